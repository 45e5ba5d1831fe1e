// What `near` shows: a line for each change while it is played, and the figures.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <herdlock/types.hpp>
#include <string>

#include "scenes/near_judge.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab {

/// What was asked for.
struct near_plan {
  std::string url;
  std::string shown;  ///< without its password
  int processes = 8;
  int frozen = 0;  ///< so many of them, the last ones; none without a freeze
  milliseconds time{10'000};
  milliseconds freeze{-1};  ///< below 0: not given
  milliseconds max_staleness{1'000};
  milliseconds every{-1};

  int first_frozen() const { return processes - frozen; }
  milliseconds before_freeze() const { return (time - freeze) * 2 / 5; }
  milliseconds after_freeze() const { return time - freeze - before_freeze(); }
  std::size_t most_changes() const { return static_cast<std::size_t>(time / every + 1); }
};

class near_teller {
 public:
  /// All outlive it.
  near_teller(near_plan const& plan, near_board const& board, near_freeze const& freeze, stage& on)
      : plan_(plan), board_(board), freeze_(freeze), on_(on) {}

  /// The changes begin.
  void begin() {
    began_ns_ = steady_ns();
    on_.out().line(fmt::format(
        "One value, changed every {}; {} read it, each from what it keeps itself.\n"
        "A number: so many ms behind the acknowledged write the process served it. old: still an "
        "older\none, for {} at most. waits: no answer, it asks the store.\n",
        cli::say(plan_.every), counted(plan_.processes, "process", "processes"),
        cli::say(plan_.max_staleness)));
    std::string head = fmt::format("{:>8} {:>7}", "time", "change");
    for (int n = 1; n <= plan_.processes; ++n) head += fmt::format(" {:>6}", n);
    on_.out().line(head);
  }
  /// What the changes look like up to this one, as far as that was not told before.
  void follow(std::int64_t change) {
    while (told_ < change) row(++told_);
  }
  /// To the frozen connections: `does` of one, `do_` of several.
  void event(char const* does, char const* do_) {
    follow(board_.acknowledged() - 1);
    if (plan_.frozen == 0) return;
    auto const first = plan_.first_frozen() + 1;
    auto const names = plan_.frozen == 1 ? fmt::format("connection of process {} {}", first, does)
                                         : fmt::format("connections of processes {} to {} {}",
                                                       first, plan_.processes, do_);
    on_.out().line(
        fmt::format("{:>6.1f} s         the {}", in_seconds(steady_ns() - began_ns_), names));
  }
  void figures(near_figures const& seen) {
    report& out = on_.out();
    out.line("");
    out.figure("store", plan_.shown);
    out.figure("processes", plan_.processes);
    out.figure("frozen processes", plan_.frozen);
    out.figure("max staleness", plan_.max_staleness.count(), "ms");
    out.figure("freeze", plan_.freeze.count(), "ms");
    out.figure("reads", seen.sum(&near_record::reads));
    out.figure("near hits", seen.sum(&near_record::near_hits));  // Redis was not asked
    out.figure("gone", seen.sum(&near_record::gone));
    out.figure("failures", seen.sum(&near_record::failures));
    out.figure("failed writes", board_.state->failed_writes.load());
    out.figure("fenced reads", seen.sum(&near_record::fenced));
    out.figure("stale behind fence", seen.sum(&near_record::stale_fenced));
    out.figure("unseen", seen.unseen());
    sights("good", seen.good);
    sights("frozen", seen.frozen);
    out.data()["broken"] = on_.judged().broken();
    out.data()["changes"] = json::array();
    for (std::int64_t change = 1; change <= board_.acknowledged(); ++change) {
      out.data()["changes"].push_back(data_of_change(change));
    }
  }

 private:
  // Who has answered nothing for so long waits. A process that only had no processor comes sooner.
  static constexpr std::int64_t silence_ns = 100'000'000;

  static std::string digits(double ms) {
    return ms < 99.95 ? fmt::format("{:.1f}", ms) : fmt::format("{:.0f}", ms);
  }

  void sights(char const* connection, near_sights const& seen) {
    on_.out().data()[connection] = {{"served_after_ms", to_micros(seen.after_ms)},
                                    {"old_for_ms", to_micros(seen.old_ms)}};
    if (seen.pairs == 0) return;
    on_.out().line(fmt::format(
        "connection {}: a change was served after {} ms at most, an older value for {} ms; not at "
        "all {} times of {}",
        connection, digits(seen.after_ms), digits(seen.old_ms), seen.unseen, seen.pairs));
  }

  std::string cell(std::size_t reader, std::int64_t change) const {
    near_sight const sight = sight_of(board_, reader, change);
    if (sight.seen) return digits(sight.after_ms);
    near_record const& who = board_.readers[reader];
    if (who.failed_ns > who.answered_ns) return "fails";
    return steady_ns() - who.answered_ns > silence_ns ? "waits" : "old";
  }

  void row(std::int64_t change) {
    auto const at_s = in_seconds(board_.acknowledged_at(change) - began_ns_);
    std::string line = fmt::format("{:>6.1f} s {:>7}", at_s, change);
    for (std::size_t reader = 0; reader < board_.readers.size(); ++reader) {
      line += fmt::format(" {:>6}", cell(reader, change));
    }
    on_.out().line(line);
    if (!on_.out().as_json()) return;
    auto const most = board_.most_changes();
    on_.tell(fmt::format("change {} of {}", change, most),
             static_cast<double>(change) / static_cast<double>(most));
  }

  json data_of_change(std::int64_t change) const {
    json after = json::array(), old = json::array(), frozen = json::array();
    for (std::size_t reader = 0; reader < board_.readers.size(); ++reader) {
      near_sight const sight = sight_of(board_, reader, change);
      after.push_back(sight.seen ? json(to_micros(sight.after_ms)) : json(nullptr));
      old.push_back(to_micros(sight.old_ms));
      if (stood_still(board_, freeze_, reader, change)) frozen.push_back(reader + 1);
    }
    return {{"change", change},
            {"at_ms", to_micros(in_ms(board_.acknowledged_at(change) - began_ns_))},
            {"served_after_ms", after},
            {"old_for_ms", old},
            {"frozen", frozen}};
  }

  near_plan const& plan_;
  near_board const& board_;
  near_freeze const& freeze_;
  stage& on_;
  std::int64_t began_ns_ = 0;
  std::int64_t told_ = 0;  ///< the change whose line was the last one
};

}  // namespace herdlock::lab
