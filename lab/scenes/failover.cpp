// Failovers under load: do two ever hold the same resource?
//
// Each round cuts the replication, lets the clients go on, takes the master away (killed and
// stopped in turn) and waits for the next one. So what was granted during the cut is unknown to the
// new master: without wait_replicas and quarantine it is granted again while it is held.
#include "scenes/failover_judge.hpp"

#include <herdlock/lock.hpp>
#include <random>
#include <support/redis_sentinels.hpp>

#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;
using herdlock_test::redis_sentinels;
using herdlock_test::redis_server;

// What is not renewed outlives a failover, so that who holds it does not learn of it in time.
constexpr milliseconds unsafe_ttl = 20s;
constexpr milliseconds safe_ttl = 5s;  // and quarantine_ttl

// What the rounds tell the clients.
struct orders {
  std::atomic<bool> failing_over{false}, over{false};
  std::atomic<std::size_t> epoch{0};
};

// A replica that cannot log in at its master goes on serving, and learns of nothing any more.
void log_in_as(redis_server const& replica, std::string const& user, std::string const& password) {
  replica.command({"CONFIG", "SET", "masteruser", user});
  replica.command({"CONFIG", "SET", "masterauth", password});
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
    things_.emplace(rounds_ + 1);
    on.processes().start_all(clients_, "client", [this, url = group.url()](std::size_t number) {
      take_again(url, number);
    });
    for (int number = 1; number <= rounds_; ++number) {
      await_grants(on);
      play_round(on, group, number);
      auto const all = seen();
      on.out().line(
          fmt::format("round {}: {} grants, {} overlaps, {} fencing steps back, {} lost leases",
                      number, all.entries, all.overlaps, all.steps_back, all.lost));
    }
    await_grants(on);
    told_->over = true;
    on.await_end();
    auto const all = seen();
    on.out().figure("mode", safe_ ? "safe" : "unsafe");
    report_counts({{"rounds", rounds_},
                   {"grants", all.entries},
                   {"overlaps", all.overlaps},
                   {"fencing steps back", all.steps_back},
                   {"lost leases", all.lost}},
                  on.out());
    judge_failover(all, safe_, on.judged());
  }

 private:
  guarded_thing::findings seen() const { return seen_by_all(*things_); }
  milliseconds ttl() const { return safe_ ? safe_ttl : unsafe_ttl; }

  // One client: it holds the resource again and again; while a failover is under way for as long as
  // it can.
  void take_again(std::string const& url, std::size_t number) {
    auto const safety =
        fmt::format("&wait_replicas=1&wait_timeout=200ms&quarantine=on&quarantine_ttl={}",
                    duration_text(ttl()));
    store const opened = open_here(url + "?timeout=1s" + (safe_ ? safety : ""));
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
    auto const end_ns = steady_ns() + in_ns(span);
    {
      std::stop_callback const lost(held.lost_token(), [&] { thing.end(spot); });
      wait_until(3 * ttl(), [&] {
        thing.stay(spot, held);
        bool const goes_on = told_->failing_over && !told_->over;
        return !held.valid() || (steady_ns() > end_ns && !goes_on);
      });
    }
    thing.leave(spot, held);
    held.release();
  }

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
    for (auto* replica : group.replicas()) log_in_as(*replica, "nobody", "nothing");
    old.cli("CLIENT KILL TYPE replica");
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
    for (std::size_t i = 0; i < group.servers(); ++i) log_in_as(group.server(i), "", "");
    group.await_replicas(2);
  }

  bool safe_ = false, unsafe_ = false, hang_ = false;
  int rounds_ = 3, clients_ = 8;
  shared<orders> told_;
  std::optional<shared_array<guarded_thing>> things_;  // by epoch
};

}  // namespace

listed_scene const failover_scene{
    "failover", "Redis fails over under load; do two ever hold the same resource?",
#include "scenes/failover_help.txt"
    , false, made<failover>};

}  // namespace herdlock::lab
