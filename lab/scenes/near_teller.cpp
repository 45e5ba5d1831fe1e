#include "scenes/near_teller.hpp"

#include <fmt/format.h>

namespace herdlock::lab {
namespace {

// Who has answered nothing for so long waits. A process that only had no processor comes sooner.
constexpr std::int64_t silence_ns = 100'000'000;
constexpr char const* next_line = "\n                   ";

std::string digits(double ms) {
  return ms < 99.95 ? fmt::format("{:.1f}", ms) : fmt::format("{:.0f}", ms);
}

json data_of(near_figures::sights const& seen) {
  return {{"served_after_ms", to_micros(seen.after_ms)}, {"old_for_ms", to_micros(seen.old_ms)}};
}

// What the changes came to over connections that did well.
std::string line_of_good(near_figures::sights const& good) {
  if (good.pairs == 0) return "no change came over one";
  auto const at_most = fmt::format("after {} ms at most", digits(good.after_ms));
  if (good.unseen == 0) return "each change was served everywhere, " + at_most;
  return fmt::format("{} of {} times a change was not served{}", good.unseen, good.pairs,
                     good.any_seen() ? ", else " + at_most : "");
}

}  // namespace

void near_teller::begin() {
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

std::string near_teller::cell(std::size_t reader, std::int64_t change, std::int64_t now_ns) const {
  near_sight const sight = sight_of(board_, reader, change);
  if (sight.seen) return digits(sight.after_ms);
  near_record const& who = board_.reader(reader);
  if (who.failed_ns > who.answered_ns) return "fails";
  return now_ns - who.answered_ns > silence_ns ? "waits" : "old";
}

void near_teller::tell_up_to(std::int64_t change) {
  while (told_ < change) row(++told_);
}

void near_teller::row(std::int64_t change) {
  if (on_.out().as_json()) {
    auto const most = board_.most_changes();
    return on_.tell(fmt::format("change {} of {}", change, most),
                    static_cast<double>(change) / static_cast<double>(most));
  }
  auto const now_ns = steady_ns();
  std::string line = fmt::format("{:>6.1f} s {:>7}",
                                 in_seconds(board_.acknowledged_at(change) - began_ns_), change);
  for (std::size_t reader = 0; reader < board_.readers(); ++reader) {
    line += fmt::format(" {:>6}", cell(reader, change, now_ns));
  }
  on_.out().line(line);
}

void near_teller::event(char const* does, char const* do_) {
  follow();
  if (plan_.frozen == 0) return;
  auto const first = plan_.first_frozen() + 1;
  auto const names = plan_.frozen == 1 ? fmt::format("connection of process {} {}", first, does)
                                       : fmt::format("connections of processes {} to {} {}", first,
                                                     plan_.processes, do_);
  on_.out().line(
      fmt::format("{:>6.1f} s         the {}", in_seconds(steady_ns() - began_ns_), names));
}

std::string near_teller::line_of_frozen(near_figures::sights const& frozen) const {
  std::string text = fmt::format("an old value was served for {} ms at most (--max-staleness {});",
                                 digits(frozen.old_ms), cli::say(plan_.max_staleness));
  if (frozen.any_seen()) {
    text += fmt::format(" the{}new one came after {} ms at most, when the connection went on",
                        next_line, digits(frozen.after_ms));
  }
  if (frozen.unseen > 0) {
    text += fmt::format("{}{} of {} times a change was not served", next_line, frozen.unseen,
                        frozen.pairs);
  }
  return text;
}

void near_teller::figures(near_figures const& seen, near_freeze const& freeze) {
  auto const line = [&](bool is_told, char const* what, std::string const& text) {
    if (is_told) on_.out().line(fmt::format("{:<19}{}", what, text));
  };
  line(true, "\nconnection good", " " + line_of_good(seen.good));
  line(seen.frozen.pairs > 0, "connection frozen", line_of_frozen(seen.frozen));
  line(true, "behind a fence",
       fmt::format("{} reads, {} of them older than their fence", with_commas(seen.fenced),
                   with_commas(seen.stale_fenced)));
  line(true, "all reads",
       fmt::format("{}, of these near hits {:.3f} %: answered without asking Redis",
                   with_commas(seen.reads), 100 * seen.share_of_near_hits()));
  line(seen.failures > 0, "without an answer",
       with_commas(seen.failures) + ", while the store was out of reach");
  line(seen.gone > 0, "without a value",
       with_commas(seen.gone) + ": somebody removed it, or the server lacks memory");
  line(seen.failed_writes > 0, "writes",
       with_commas(seen.failed_writes) + " without an answer in time, done again");
  on_.out().data() = {{"store", plan_.shown},
                      {"processes", plan_.processes},
                      {"frozen_processes", plan_.frozen},
                      {"max_staleness_ms", plan_.max_staleness.count()},
                      {"freeze_ms", plan_.freeze.count()},
                      {"reads", seen.reads},
                      {"near_hits", seen.near_hits},
                      {"gone", seen.gone},
                      {"failures", seen.failures},
                      {"failed_writes", seen.failed_writes},
                      {"fenced_reads", seen.fenced},
                      {"stale_behind_fence", seen.stale_fenced},
                      {"unseen", seen.unseen()},
                      {"good", data_of(seen.good)},
                      {"frozen", data_of(seen.frozen)},
                      {"broken", on_.judged().broken()},
                      {"changes", changes(freeze)}};
}

json near_teller::changes(near_freeze const& freeze) const {
  json all = json::array();
  for (std::int64_t change = 1; change <= board_.acknowledged(); ++change) {
    json after = json::array(), old = json::array(), frozen = json::array();
    for (std::size_t reader = 0; reader < board_.readers(); ++reader) {
      near_sight const sight = sight_of(board_, reader, change);
      after.push_back(sight.seen ? json(to_micros(sight.after_ms)) : json(nullptr));
      old.push_back(to_micros(sight.old_ms));
      if (stood_still(board_, freeze, reader, change)) frozen.push_back(reader + 1);
    }
    all.push_back({{"change", change},
                   {"at_ms", to_micros(in_ms(board_.acknowledged_at(change) - began_ns_))},
                   {"served_after_ms", after},
                   {"old_for_ms", old},
                   {"frozen", frozen}});
  }
  return all;
}

}  // namespace herdlock::lab
