// What `near` shows: a line for each change while it is played, and the figures.
#pragma once

#include "scenes/near_judge.hpp"

namespace herdlock::lab {

/// What was asked for.
struct near_plan {
  std::string url;
  std::string shown;  ///< without its password
  // The server that the relays stand in front of.
  std::string host{};
  std::uint16_t port = 0;
  std::string server{};  ///< both, as a URL has them
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

struct near_teller {
  near_plan const& plan;
  near_board const& board;
  stage& on;
  near_freeze freeze{static_cast<std::size_t>(plan.first_frozen())};
  std::int64_t began_ns = 0;
  std::int64_t told = 0;  ///< the change whose line was the last one

  /// The changes begin.
  void begin() {
    began_ns = steady_ns();
    on.out().line(fmt::format(
        "One value, changed every {}; {} read it, each from what it keeps itself.\n"
        "A number: so many ms behind the acknowledged write the process served it. old: still an "
        "older\none, for {} at most. waits: no answer, it asks the store.\n",
        cli::say(plan.every), counted(plan.processes, "process", "processes"),
        cli::say(plan.max_staleness)));
    std::string head = fmt::format("{:>8} {:>7}", "time", "change");
    for (int n = 1; n <= plan.processes; ++n) head += fmt::format(" {:>6}", n);
    on.out().line(head);
  }
  /// What the changes look like up to this one, as far as that was not told before.
  void follow(std::int64_t change) {
    while (told < change) row(++told);
  }
  /// To the frozen connections: `does` of one, `do_` of several.
  void event(char const* does, char const* do_) {
    follow(board.acknowledged() - 1);
    if (plan.frozen == 0) return;
    auto const first = plan.first_frozen() + 1;
    auto const names = plan.frozen == 1 ? fmt::format("connection of process {} {}", first, does)
                                        : fmt::format("connections of processes {} to {} {}", first,
                                                      plan.processes, do_);
    on.out().line(
        fmt::format("{:>6.1f} s         the {}", in_seconds(steady_ns() - began_ns), names));
  }
  void figures(near_figures const& seen) {
    report& out = on.out();
    out.line("");
    out.figure("store", plan.shown);
    out.figure("processes", plan.processes);
    out.figure("frozen processes", plan.frozen);
    out.figure("max staleness", plan.max_staleness.count(), "ms");
    out.figure("freeze", plan.freeze.count(), "ms");
    out.figure("reads", board.sum(&near_record::reads));
    out.figure("near hits", board.sum(&near_record::near_hits));  // Redis was not asked
    out.figure("gone", board.sum(&near_record::gone));
    out.figure("failures", board.sum(&near_record::failures));
    out.figure("failed writes", board.state->failed_writes.load());
    out.figure("fenced reads", board.sum(&near_record::fenced));
    out.figure("stale behind fence", board.sum(&near_record::stale_fenced));
    out.figure("unseen", seen.unseen());
    sights("good", seen.good);
    sights("frozen", seen.frozen);
    out.data()["broken"] = on.judged().broken();
    out.data()["changes"] = json::array();
    for (std::int64_t change = 1; change <= board.acknowledged(); ++change) {
      out.data()["changes"].push_back(data_of_change(change));
    }
  }

  // Who has answered nothing for so long waits. A process that only had no processor comes sooner.
  static constexpr std::int64_t silence_ns = 100'000'000;

  static std::string digits(double ms) {
    return ms < 99.95 ? fmt::format("{:.1f}", ms) : fmt::format("{:.0f}", ms);
  }

  void sights(char const* connection, near_sights const& seen) {
    on.out().data()[connection] = {{"served_after_ms", to_micros(seen.after_ms)},
                                   {"old_for_ms", to_micros(seen.old_ms)}};
    if (seen.pairs == 0) return;
    on.out().line(fmt::format(
        "connection {}: a change was served after {} ms at most, an older value for {} ms; not at "
        "all {} times of {}",
        connection, digits(seen.after_ms), digits(seen.old_ms), seen.unseen, seen.pairs));
  }

  std::string cell(std::size_t reader, std::int64_t change) const {
    near_sight const sight = sight_of(board, reader, change);
    if (sight.seen) return digits(sight.after_ms);
    near_record const& who = board.readers[reader];
    if (who.failed_ns > who.answered_ns) return "fails";
    return steady_ns() - who.answered_ns > silence_ns ? "waits" : "old";
  }

  void row(std::int64_t change) {
    auto const at_s = in_seconds(board.acknowledged_at(change) - began_ns);
    std::string line = fmt::format("{:>6.1f} s {:>7}", at_s, change);
    for (std::size_t reader = 0; reader < board.readers.size(); ++reader) {
      line += fmt::format(" {:>6}", cell(reader, change));
    }
    on.out().line(line);
    if (!on.out().as_json()) return;
    auto const most = board.most_changes();
    on.tell(fmt::format("change {} of {}", change, most), 1.0 * change / most);
  }

  json data_of_change(std::int64_t change) const {
    json after = json::array(), old = json::array(), frozen = json::array();
    for (std::size_t reader = 0; reader < board.readers.size(); ++reader) {
      near_sight const sight = sight_of(board, reader, change);
      after.push_back(sight.seen ? json(to_micros(sight.after_ms)) : json(nullptr));
      old.push_back(to_micros(sight.old_ms));
      if (stood_still(board, freeze, reader, change)) frozen.push_back(reader + 1);
    }
    return {{"change", change},
            {"at_ms", to_micros(in_ms(board.acknowledged_at(change) - began_ns))},
            {"served_after_ms", after},
            {"old_for_ms", old},
            {"frozen", frozen}};
  }
};

}  // namespace herdlock::lab
