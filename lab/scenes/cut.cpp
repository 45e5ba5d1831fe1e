// The store is cut off from the leader alone: has it stopped before the next one starts?
#include <fmt/format.h>
#include <signal.h>

#include <herdlock/lock.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>

#include "scenes/contest.hpp"
#include "scenes/cut_judge.hpp"
#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"
#include "stage/programs.hpp"
#include "stage/temp_folder.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;
using herdlock_test::child_process;
using herdlock_test::redis_server;
using herdlock_test::relay;

constexpr char const* cut_help =
    R"(A relay between the leader and a Redis server of the scene's own goes silent;
the next in the queue reaches the server directly. Measured is the time from the
leader's last sign of life to the next one's first.

  election  two candidates; the work stops when it is told to
  run       `herdlock run` with a command of two processes that refuse SIGTERM
  kill      the same, and herdlock itself gets SIGKILL instead

The margin is what the documents promise: in an election the grace; with
`herdlock run` a quarter of the grace, at most 250 ms. A promise is broken when
the next one started before the other had ended; with --strict already when less
than the margin was between them.

Examples:
  herdlock-lab cut
  herdlock-lab cut --rounds 100 --ttl 2s --strict)";

std::string through(std::uint16_t port) { return fmt::format("redis://127.0.0.1:{}", port); }

class cut : public scene {
 public:
  void declare(options& all) override {
    all.number("--rounds", rounds_, {1, 1'000'000}, "Of each case");
    all.time("--ttl", ttl_, {200ms, 60s}, "How long a dead leader is waited for");
    all.choice("--case", case_, {"all", "election", "run", "kill"}, "all, election, run or kill");
    all.flag("--strict", strict_, "The margin is promised, too");
    trial_.declare(all);
  }
  void check() override { trial_.check(); }

  void play(stage& on) override {
    trial_.live_if_asked();
    auto server = own_server<redis_server>();
    auto const kill_margin = std::min<milliseconds>(250ms, run_grace() / 4);
    for (cut_figures each :
         {cut_figures{"election", ttl_ / 4}, {"run", kill_margin}, {"kill", kill_margin}}) {
      if (case_ != "all" && case_ != each.name) continue;
      for (int round = 1; round <= rounds_; ++round) {
        on.tell(fmt::format("{}: round {} of {}", each.name, round, rounds_));
        server.flush();
        if (each.name == "election") {
          cut_off_a_leader(on, server, each);
        } else {
          take_a_command_away(on, server, each);
        }
      }
      judge_cut(each, strict_ ? margins::are_promised : margins::are_told, on.judged());
      all_.push_back(std::move(each));
    }
    tell(on);
  }

 private:
  milliseconds run_grace() const { return ttl_ * 2 / 5; }

  void cut_off_a_leader(stage& on, redis_server& server, cut_figures& into) const {
    constexpr int leader = 0, next = 1;
    resource const job("job");
    shared<contest_board> board;
    shared<std::atomic<std::uint16_t>> port;  // of the relay, whose thread comes behind the fork
    board->at(next).may_stand = false;
    on.processes().start("the leader", [&] {
      wait_until(stage::patience, [&] { return *port != 0; });
      stand({through(*port), job, ttl_}, *board, leader);
    });
    on.processes().start("the next one", [&] { stand({server.url(), job, ttl_}, *board, next); });
    {
      relay path(server.port());
      *port = path.port();
      auto const& began_ns = board->at(next).last(contest_word::leads).at_ns;
      auto const& ended_ns = board->at(leader).last(contest_word::stops).at_ns;
      lock const looker(open_here(server.url()), job);
      on.await("nobody led", [&] { return board->at(leader).working != 0; });
      board->at(next).may_stand = true;
      on.await("nobody waited", [&] { return waits(looker); });
      path.stop_forwarding();
      on.await("nobody took over", [&] { return began_ns != 0; });
      if (on.waited_for([&] { return ended_ns != 0; }, 20s)) {
        into.gaps_ms.push_back(in_ms(began_ns - ended_ns));
      } else {
        ++into.never_stopped;
      }
    }
    on.clear();
  }

  void take_a_command_away(stage& on, redis_server& server, cut_figures& into) const {
    temp_folder const folder;
    auto const file = folder.path() / "lives";
    auto& all = lives_in(file);
    life &first = all[0], &second = all[1];
    life const& next_life = all[2];
    relay path(server.port());
    lock const looker(open_here(server.url()), "job");
    std::vector<std::string> const how{
        "--ttl", duration_text(ttl_), "--grace", duration_text(run_grace()), "--wait", "60s"};
    auto holder =
        trial_.start(through(path.port()), how, file, 0, run_trial::command::refuses_sigterm);
    until(on, holder, "the command did not run",
          [&] { return first.first_ns != 0 && second.first_ns != 0; });
    auto next = trial_.start(server.url(), how, file, 2, run_trial::command::ends_at_sigterm);
    until(on, next, "nobody waited", [&] { return waits(looker); });
    first.stood_still_ns = second.stood_still_ns = 0;
    auto const since = steady_ns();
    bool const kills = into.name == "kill";
    if (kills) {
      holder.kill();
    } else {
      path.stop_forwarding();
    }
    until(on, next, "nobody took over", [&] { return next_life.first_ns != 0; });
    auto const last_ns = [&] { return std::max<std::int64_t>(first.last_ns, second.last_ns); };
    auto const last = last_ns();
    into.gaps_ms.push_back(in_ms(next_life.first_ns - last));
    if (kills) {
      into.outlived_ms.push_back(std::max(0.0, in_ms(last - since)));
      tell_of_a_long_life(on, into,
                          std::max<std::int64_t>(first.stood_still_ns, second.stood_still_ns));
    } else {
      auto const status = holder.wait();
      into.not_told += !status || status->code != 76;
    }
    next.signal(SIGTERM);
    next.wait();
    into.lived_on += last_ns() != last;
  }

  static bool waits(lock const& looker) {
    auto const seen = looker.inspect();
    return seen && seen->waiting == 1;
  }

  template <class Condition>
  static void until(stage& on, child_process const& program, char const* what, Condition holds) {
    if (on.waited_for(holds, stage::patience)) return;
    throw command_error(exit_code::unavailable, fmt::format("{}: {}", what, program.errors()));
  }

  // Did nobody end it, or did nobody run at all?
  static void tell_of_a_long_life(stage& on, cut_figures const& of, std::int64_t stood_still_ns) {
    if (of.outlived_ms.back() < 100) return;
    on.out().line(fmt::format(
        "kill: round {}: the command outlived herdlock by {:.1f} ms; one of its processes\n"
        "  did not get to run for {:.1f} ms in between",
        of.outlived_ms.size(), of.outlived_ms.back(), in_ms(stood_still_ns)));
  }

  void tell(stage& on) const {
    table rows({{"case", table::side::left},
                {"rounds"},
                {"margin"},
                {"kept in"},
                {"least"},
                {"median"},
                {"overlaps"},
                {"outlived herdlock by"}});
    json& data = on.out().data() = json::array();
    for (auto const& each : all_) {
      auto const rounds = static_cast<std::int64_t>(each.gaps_ms.size());
      auto const kept = rounds - each.below_margin();
      double const least = percentile(each.gaps_ms, 0);
      double const median = percentile(each.gaps_ms, 0.5);
      double const outlived = percentile(each.outlived_ms, 1);
      bool const has_died = !each.outlived_ms.empty();
      rows.row({each.name, std::to_string(rounds), cli::say(each.margin), std::to_string(kept),
                fmt::format("{:.1f} ms", least), fmt::format("{:.1f} ms", median),
                std::to_string(each.overlaps()),
                has_died ? fmt::format("{:.1f} ms", outlived) : "-"});
      data.push_back({{"case", each.name},
                      {"rounds", rounds},
                      {"margin_ms", each.margin.count()},
                      {"kept", kept},
                      {"least_ms", to_micros(least)},
                      {"median_ms", to_micros(median)},
                      {"overlaps", each.overlaps()}});
      if (has_died) data.back()["outlived_ms"] = to_micros(outlived);
    }
    on.out().line(rows.text());
  }

  int rounds_ = 2;
  milliseconds ttl_ = 2s;
  std::string case_ = "all";
  bool strict_ = false;
  run_trial trial_{"cut"};
  std::vector<cut_figures> all_;
};

}  // namespace

listed_scene const cut_scene{
    "cut", "The store is cut off from the leader alone: has it stopped before the next one starts?",
    cut_help, false, made<cut>};

}  // namespace herdlock::lab
