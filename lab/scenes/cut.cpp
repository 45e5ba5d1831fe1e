// The store is cut off from the leader alone: has it stopped before the next one starts?
#include "scenes/cut.hpp"

#include <support/redis_server.hpp>

#include "scenes/contest.hpp"
#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/table_of.hpp"
#include "stage/wire.hpp"

namespace herdlock::lab {

using namespace std::chrono_literals;
using herdlock_test::redis_server;

void cases_of_a_cut::declare(options& all) {
  all.number("--rounds", rounds_, {1, 1'000'000}, "Of each case");
  trial_.declare(all);
}

void cases_of_a_cut::play_case(stage& on, cut_figures of, cut_promises const& promised,
                               std::function<void(cut_figures&)> const& play_round) {
  for (int round = 1; round <= rounds_; ++round) {
    on.tell(fmt::format("{}: round {} of {}", of.name, round, rounds_));
    play_round(of);
  }
  judge_cut(of, promised, on.judged());
  all_.push_back(std::move(of));
}

void cases_of_a_cut::play(stage& on) {
  trial_.live_if_asked();
  play_cases(on);
  json& data = on.out().data() = json::array();
  for (auto const& each : all_) {
    auto const rounds = static_cast<std::int64_t>(each.gaps_ms.size());
    json one{{"case", each.name},
             {"rounds", rounds},
             {"margin_ms", each.margin.count()},
             {"kept", rounds - each.below_margin()},
             {"least_ms", to_micros(percentile(each.gaps_ms, 0))},
             {"median_ms", to_micros(percentile(each.gaps_ms, 0.5))},
             {"overlaps", each.overlaps()}};
    if (!each.outlived_ms.empty()) {
      one["outlived_ms"] = to_micros(percentile(each.outlived_ms, 1));
      one["told"] = rounds - each.not_told;
      one["seen_waiting"] = each.seen_waiting;
    }
    data.push_back(std::move(one));
  }
  on.out().line(table_of(data, {"case", "rounds", "margin_ms", "kept", "least_ms", "median_ms",
                                "overlaps", "outlived_ms", "told", "seen_waiting"}));
}

namespace {

class cut : public cases_of_a_cut {
 public:
  cut() : cases_of_a_cut("cut", 2) {}

  void declare(options& all) override {
    cases_of_a_cut::declare(all);
    all.time("--ttl", ttl_, {200ms, 60s}, "How long a dead leader is waited for");
    all.choice("--case", case_, {"all", "election", "run", "kill"}, "all, election, run or kill");
    all.flag("--strict", strict_, "The margin is promised, too");
  }

 private:
  void play_cases(stage& on) override {
    auto server = own_server<redis_server>();
    auto const kill_margin = std::min<milliseconds>(250ms, run_grace() / 4);
    for (cut_figures const& each :
         {cut_figures{"election", ttl_ / 4}, {"run", kill_margin}, {"kill", kill_margin}}) {
      if (case_ != "all" && case_ != each.name) continue;
      play_case(on, each, {.margin = strict_}, [&](cut_figures& into) {
        server.flush();
        wire path(on, "127.0.0.1", server.port(), [] { return true; });
        auto const of_leader = fmt::format("redis://127.0.0.1:{}", path.port());
        if (each.name == "election") {
          cut_off_a_leader(on, path, of_leader, server.url(), into);
        } else {
          take_a_command_away(on, path, of_leader, server.url(), into);
        }
        on.clear();
      });
    }
  }

  milliseconds run_grace() const { return ttl_ * 2 / 5; }

  void cut_off_a_leader(stage& on, wire& path, std::string const& of_leader,
                        std::string const& of_next, cut_figures& into) const {
    shared<contest_board> board;
    contest between(on, *board, {of_next, resource("job"), ttl_, 2, of_leader});
    between.start();
    between.settle();
    path.freeze();
    auto const& began_ns = board->at(1).last(contest_word::leads).at_ns;
    auto const& ended_ns = board->at(0).last(contest_word::stops).at_ns;
    on.await("nobody took over", [&] { return began_ns != 0; });
    if (on.waited_for([&] { return ended_ns != 0; }, 20s)) {
      into.gaps_ms.push_back(in_ms(began_ns - ended_ns));
    } else {
      ++into.never_stopped;
    }
  }

  void take_a_command_away(stage& on, wire& path, std::string const& of_leader,
                           std::string const& of_next, cut_figures& into) const {
    bool const kills = into.name == "kill";
    run_trial::taking const what{
        .holder_url = of_leader,
        .next_url = of_next,
        .how = {"--ttl", duration_text(ttl_), "--grace", duration_text(run_grace()), "--wait",
                "60s"},
        .refuses_sigterm = true,
        .waits_unseen = stage::patience,
        .prepare = [&](run_trial::program& holder) -> std::function<void()> {
          if (kills) return [&] { holder.kill(); };
          return [&] { path.freeze(); };
        }};
    auto seen = trial_.play(on, what);
    if (!seen.seen_waiting) throw command_error(exit_code::unavailable, "nobody waited");
    if (kills) seen.told = true;  // nobody is left who could be
    // Did nobody end it, or did nobody run at all?
    if (kills && seen.outlived_ms >= 100) {
      on.out().line(fmt::format(
          "kill: round {}: the command outlived herdlock by {:.1f} ms; one of its processes\n"
          "  did not get to run for {:.1f} ms in between",
          into.gaps_ms.size() + 1, seen.outlived_ms, seen.stood_still_ms));
    }
    into.take(seen);
  }

  milliseconds ttl_ = 2s;
  std::string case_ = "all";
  bool strict_ = false;
};

}  // namespace

listed_scene const cut_scene{
    "cut", "The store is cut off from the leader alone: has it stopped before the next one starts?",
#include "scenes/cut_help.txt"
    , false, made<cut>};

}  // namespace herdlock::lab
