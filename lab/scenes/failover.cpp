// Failovers under load: do two ever hold the same resource?
//
// Each round cuts the replication, lets the clients go on, takes the master away (killed and
// stopped in turn) and waits for the next one. So what was granted during the cut is unknown to the
// new master: without wait_replicas and quarantine it is granted again while it is held.
#include "scenes/failover_judge.hpp"

#include <herdlock/lock.hpp>
#include <optional>
#include <random>
#include <support/redis_sentinels.hpp>

#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;
using herdlock_test::redis_sentinels;

// What is not renewed outlives a failover, so that who holds it does not learn of it in time.
constexpr milliseconds unsafe_ttl = 20s;
constexpr milliseconds safe_ttl = 5s;  // and quarantine_ttl

// What the rounds tell the clients.
struct orders {
  std::atomic<bool> failing_over{false};
  std::atomic<bool> over{false};
  std::atomic<std::size_t> epoch{0};
};

// What is cut off from its master: the replicas go on serving, but cannot log in there any more.
void cut_replication(redis_sentinels& group) {
  for (auto* replica : group.replicas()) {
    replica->cli("CONFIG SET masteruser nobody");
    replica->cli("CONFIG SET masterauth nothing");
  }
  group.master().cli("CLIENT KILL TYPE replica");
}

void restore_replication(redis_sentinels& group) {
  for (std::size_t i = 0; i < group.servers(); ++i) {
    group.server(i).command({"CONFIG", "SET", "masteruser", ""});
    group.server(i).command({"CONFIG", "SET", "masterauth", ""});
  }
}

class failover : public scene {
 public:
  void declare(options& all) override {
    all.flag("--safe", safe_, "With wait_replicas=1 and quarantine=on: no overlap is allowed");
    all.flag("--unsafe", unsafe_, "With neither: the judge has to see overlaps");
    all.flag("--hang", hang_,
             "In every second round the sentinel that the clients listen to hangs\n"
             "while the others make another server the master");
    all.number("--rounds", rounds_, {1, 10'000}, "Failovers");
    all.number("--clients", clients_, {2, 256}, "Processes that take the resource");
  }

  void check() override {
    if (safe_ != unsafe_) return;
    throw command_error(exit_code::usage, "--safe or --unsafe: say which of them");
  }

  void play(stage& on) override {
    auto group = own_server<redis_sentinels>();
    // The load's resource changes in the middle of each cut: of the one before, a replica knows the
    // holder that it had at the cut, and would not grant it to anybody for a ttl.
    things_.emplace(static_cast<std::size_t>(rounds_) + 1);
    for (int i = 0; i < clients_; ++i) {
      on.processes().start("a client", [this, i, url = group.url()] { take_again(url, i); });
    }
    for (int number = 1; number <= rounds_; ++number) {
      await_grants(on);
      play_round(on, group, number);
      on.out().line(fmt::format("round {}: {}", number, words()));
    }
    await_grants(on);
    told_->over = true;
    on.await_end();
    tell_figures(on.out());
    judge_failover(seen(), safe_, on.judged());
  }

 private:
  guarded_thing::findings seen() const {
    guarded_thing::findings all;
    for (auto const& each : *things_) all += each.seen();
    return all;
  }

  // One client: it holds the resource again and again; while a failover is under way for as long as
  // it can.
  void take_again(std::string const& url, int number) {
    store const opened =
        open_here(url + (safe_ ? fmt::format("?wait_replicas=1&wait_timeout=200ms&timeout=1s&"
                                             "quarantine=on&quarantine_ttl={}ms",
                                             safe_ttl.count())
                               : "?timeout=1s"));
    // Half of them renew; the others learn of a loss only from their own clock.
    auto const renew = number % 2 == 0 ? renewal::automatic : renewal::none;
    acquire_options const how{.ttl = ttl(), .wait = 500ms, .renew = renew};
    std::minstd_rand random(std::random_device{}());
    std::uniform_int_distribution<int> hold_ms(1, 40);
    while (!told_->over) {
      try {
        std::size_t const epoch = told_->epoch;
        auto held = lock(opened, fmt::format("soak-{}", epoch)).acquire(how);
        if (held) hold((*things_)[epoch], *held, milliseconds(hold_ms(random)));
      } catch (error const&) {  // no master, not replicated, or in quarantine: tried again
        wait_until(20ms, [this] { return told_->over.load(); });
      }
    }
  }

  void hold(guarded_thing& thing, lease& held, milliseconds span) {
    auto const spot = thing.enter(held);
    {
      std::stop_callback const lost(held.lost_token(), [&] { thing.end(spot); });
      auto const ended = [&] {
        thing.stay(spot, held);
        return !held.valid();
      };
      wait_until(span, ended);
      wait_until(3 * ttl(), [&] { return ended() || !told_->failing_over || told_->over; });
    }
    thing.leave(spot, held);
    held.release();
  }

  milliseconds ttl() const { return safe_ ? safe_ttl : unsafe_ttl; }

  void await_grants(stage& on) const {
    auto const wanted = seen().entries + 5;
    on.await(
        "the clients got nothing any more", [&] { return seen().entries >= wanted; }, 60s);
  }

  void play_round(stage& on, redis_sentinels& group, int number) {
    // Each way of losing the master, with and without a sentinel that hangs.
    bool const by_kill = number % 4 < 2;
    bool const a_sentinel_hangs = hang_ && number % 2 == 0;
    on.tell(fmt::format("round {} of {}", number, rounds_),
            static_cast<double>(number - 1) / rounds_);
    group.await_calm();
    group.await_action();
    auto& old = group.master();
    group.await_replicas(2);
    cut_replication(group);
    auto const before = seen().entries;
    guarded_thing const& thing = (*things_)[++told_->epoch];
    on.waited_for([&] { return seen().entries >= before + 3; }, 600ms);
    told_->failing_over = true;
    on.waited_for([&] { return thing.occupied(); }, 300ms);
    auto const hanging = group.most_listened_sentinel();
    if (a_sentinel_hangs) group.hang_sentinel(hanging);
    if (by_kill) {
      old.kill();
    } else {
      old.pause();
    }
    auto const at_end = seen().entries;
    group.await_master_other_than(old.port());
    // The holders hold on until the clients have had a chance at the new master.
    on.waited_for([&] { return seen().entries != at_end; }, 2s);
    told_->failing_over = false;
    if (a_sentinel_hangs) group.resume_sentinel(hanging);
    if (by_kill) {
      group.rejoin(old);
    } else {
      old.resume();
    }
    restore_replication(group);
    group.await_replicas(2);
  }

  std::string words() const {
    auto const all = seen();
    return fmt::format("{} grants, {} overlaps, {} fencing steps back, {} lost leases", all.entries,
                       all.overlaps, all.steps_back, all.lost);
  }

  void tell_figures(report& out) const {
    auto const all = seen();
    out.figure("mode", safe_ ? "safe" : "unsafe");
    out.figure("rounds", rounds_);
    out.figure("grants", all.entries);
    out.figure("overlaps", all.overlaps);
    out.figure("fencing steps back", all.steps_back);
    out.figure("lost leases", all.lost);
  }

  bool safe_ = false;
  bool unsafe_ = false;
  bool hang_ = false;
  int rounds_ = 3;
  int clients_ = 8;
  shared<orders> told_;
  std::optional<shared_array<guarded_thing>> things_;  // by epoch
};

}  // namespace

listed_scene const failover_scene{
    .name = "failover",
    .does = "Redis fails over under load; do two ever hold the same resource?",
    .help = R"(Starts a Redis master with two replicas and three sentinels. Each round cuts the
replication, lets the clients go on, takes the master away (killed and stopped
in turn) and waits for the next one, which does not know what was granted during
the cut.

Exit status: 0; 1 when a safe run saw two hold the same resource, or an unsafe
one did not (by chance it may not); 64 for usage; 69 if redis-server cannot be
started, or the clients get nothing any more.

Examples:
  herdlock-lab failover --safe --hang --rounds 100
  herdlock-lab failover --unsafe)",
    .draws = false,
    .make = made<failover>};

}  // namespace herdlock::lab
