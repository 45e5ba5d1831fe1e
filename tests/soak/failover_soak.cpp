// Failovers under load: do two ever hold the same resource?
//
//   failover_soak --safe|--unsafe [--hang] [--rounds N] [--clients K]
//
// --hang: in every second round the sentinel that the clients listen to hangs while the others make
// another server the master. --safe asks for wait_replicas=1 and quarantine=on, --unsafe for
// neither. Each round cuts the replication, lets the clients go on, takes the master away (killed
// and stopped in turn) and waits for the next one. So what was granted during the cut is unknown to
// the new master: without the two options it is granted again while it is held. Prints one line per
// round and a sum; ends with 1 when a safe run saw an overlap, or an unsafe one saw none, which
// would mean that this program cannot see them.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <herdlock/herdlock.hpp>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <support/redis_sentinels.hpp>
#include <thread>
#include <vector>

#include "failover_guard.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock_test;

// What is not renewed outlives a failover, so that who holds it does not learn of it in time.
constexpr milliseconds unsafe_ttl = 20s;
constexpr milliseconds safe_ttl = 5s;  // and quarantine_ttl

struct soak_options {
  bool safe = true;
  bool known = false;
  bool hang = false;
  int rounds = 3;
  int clients = 8;
};

// A pause that ends early when there is no reason for it any more.
template <class Reason>
void linger(milliseconds at_most, Reason reason) {
  eventually(at_most, [&] { return !reason(); });
}

// The load's resource changes in the middle of each cut: of the one before, a replica knows the
// holder that it had at the cut, and would not grant it to anybody for a ttl.
std::string resource_of(int epoch) { return "soak-" + std::to_string(epoch); }

// What the rounds tell the clients.
struct orders {
  std::atomic<bool> failing_over{false};
  std::atomic<int> epoch{0};
};
orders& told() {
  static orders all;
  return all;
}

// Holds the resource again and again; while a failover is under way for as long as it can.
class soak_client {
 public:
  soak_client(store where, milliseconds ttl, int number, failover_guard& judge)
      : store_(std::move(where)),
        ttl_(ttl),
        // Half of them renew; the others learn of a loss only from their own clock.
        renew_(number % 2 == 0 ? renewal::automatic : renewal::none),
        judge_(judge),
        thread_([this](std::stop_token stop) { run(stop); }) {}

 private:
  void run(std::stop_token const& stop) {
    std::minstd_rand random(std::random_device{}());
    std::uniform_int_distribution<int> hold_ms(1, 40);
    while (!stop.stop_requested()) {
      try {
        std::string const name = resource_of(told().epoch);
        auto held = lock(store_, name).acquire({.ttl = ttl_, .wait = 500ms, .renew = renew_});
        if (held) hold(name, *held, stop, milliseconds(hold_ms(random)));
      } catch (error const&) {  // no master, not replicated, or in quarantine: tried again
        linger(20ms, [&] { return !stop.stop_requested(); });
      }
    }
  }

  void hold(std::string const& name, lease& held, std::stop_token const& stop, milliseconds span) {
    judge_.enter(name, held);
    linger(span, [&] { return held.valid(); });
    linger(3 * ttl_,
           [&] { return told().failing_over.load() && held.valid() && !stop.stop_requested(); });
    judge_.leave(name, held);
    held.release();
  }

  store store_;
  milliseconds ttl_;
  renewal renew_;
  failover_guard& judge_;
  std::jthread thread_;
};

class failover_soak {
 public:
  explicit failover_soak(soak_options const& options) : options_(options) {
    std::string const asked = options.safe
                                  ? "?wait_replicas=1&wait_timeout=200ms&timeout=1s&quarantine=on&"
                                    "quarantine_ttl=" +
                                        std::to_string(safe_ttl.count()) + "ms"
                                  : "?timeout=1s";
    for (int i = 0; i < options.clients; ++i) {
      clients_.push_back(std::make_unique<soak_client>(
          open_store(group_.url() + asked), options.safe ? safe_ttl : unsafe_ttl, i, judge_));
    }
  }

  bool run() {
    for (int number = 1; number <= options_.rounds; ++number) {
      await_grants(5);
      round(number);
      auto const seen = judge_.so_far();
      std::printf("round %d: %lu grants, %lu overlaps, %lu fencing steps back, %lu lost leases\n",
                  number, seen.grants, seen.overlaps, seen.steps_back, seen.lost);
      std::fflush(stdout);
    }
    await_grants(5);
    clients_.clear();
    auto const seen = judge_.so_far();
    std::printf("%s: %d rounds, %lu grants, %lu overlaps, %lu fencing steps back, %lu lost\n",
                options_.safe ? "safe" : "unsafe", options_.rounds, seen.grants, seen.overlaps,
                seen.steps_back, seen.lost);
    return options_.safe ? seen.overlaps == 0 : seen.overlaps > 0;
  }

 private:
  void await_grants(std::uint64_t more) {
    auto const wanted = judge_.so_far().grants + more;
    if (!eventually(60s, [&] { return judge_.so_far().grants >= wanted; })) {
      throw std::runtime_error("the clients get nothing any more");
    }
  }

  // The replicas go on serving, but cannot log in at the master any more.
  void cut_replication() {
    for (auto* replica : group_.replicas()) {
      replica->cli("CONFIG SET masteruser nobody");
      replica->cli("CONFIG SET masterauth nothing");
    }
    group_.master().cli("CLIENT KILL TYPE replica");
  }

  void restore_replication() {
    for (std::size_t i = 0; i < group_.servers(); ++i) {
      group_.server(i).command({"CONFIG", "SET", "masteruser", ""});
      group_.server(i).command({"CONFIG", "SET", "masterauth", ""});
    }
  }

  void round(int number) {
    // Each way of losing the master, with and without a sentinel that hangs.
    bool const by_kill = number % 4 < 2;
    bool const a_sentinel_hangs = options_.hang && number % 2 == 0;
    group_.await_calm();
    group_.await_action();
    auto& old = group_.master();
    group_.await_replicas(2);
    cut_replication();
    auto const before = judge_.so_far().grants;
    std::string const name = resource_of(++told().epoch);
    linger(600ms, [&] { return judge_.so_far().grants < before + 3; });
    told().failing_over = true;
    linger(300ms, [&] { return !judge_.occupied(name); });
    auto const hanging = group_.most_listened_sentinel();
    if (a_sentinel_hangs) group_.hang_sentinel(hanging);
    if (by_kill) {
      old.kill();
    } else {
      old.pause();
    }
    auto const at_end = judge_.so_far().grants;
    group_.await_master_other_than(old.port());
    // The holders hold on until the clients have had a chance at the new master.
    linger(2s, [&] { return judge_.so_far().grants == at_end; });
    told().failing_over = false;
    if (a_sentinel_hangs) group_.resume_sentinel(hanging);
    if (by_kill) {
      group_.rejoin(old);
    } else {
      old.resume();
    }
    restore_replication();
    group_.await_replicas(2);
  }

  soak_options options_;
  redis_sentinels group_;
  failover_guard judge_;
  std::vector<std::unique_ptr<soak_client>> clients_;
};

soak_options parse(int argc, char** argv) {
  soak_options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    bool const last = i + 1 == argc;
    if (word == "--safe" || word == "--unsafe") {
      options.safe = word == "--safe";
      options.known = true;
    } else if (word == "--hang") {
      options.hang = true;
    } else if (word == "--rounds" && !last) {
      options.rounds = std::atoi(argv[++i]);
    } else if (word == "--clients" && !last) {
      options.clients = std::atoi(argv[++i]);
    } else {
      options.known = false;
      break;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  auto const options = parse(argc, argv);
  if (!options.known || options.rounds < 1 || options.clients < 2) {
    std::fprintf(stderr, "failover_soak --safe|--unsafe [--hang] [--rounds N] [--clients K]\n");
    return 64;
  }
  try {
    return failover_soak(options).run() ? 0 : 1;
  } catch (std::exception const& why) {
    std::fprintf(stderr, "failover_soak: %s\n", why.what());
    return 2;
  }
}
