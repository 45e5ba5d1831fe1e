#include "scenes/near_teller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "terminal/duration.hpp"
#include "terminal/standard_output.hpp"
#include "stage/words.hpp"

namespace herdlock::cli {
namespace {

// Who has answered nothing for so long waits. A process that only had no processor comes sooner.
constexpr std::int64_t silence_ns = 100'000'000;

std::string in_ms(double ms) {
  return ms < 99.95 ? fmt::format("{:.1f}", ms) : fmt::format("{:.0f}", ms);
}

std::string names_of_frozen(near_options const& options) {
  auto const first = options.first_frozen() + 1;
  if (first == options.processes) return fmt::format("process {}", first);
  return fmt::format("processes {} to {}", first, options.processes);
}

nlohmann::ordered_json json_of(near_figures::sights const& seen) {
  return {{"served_after_ms", to_micros(seen.after_ms)}, {"old_for_ms", to_micros(seen.old_ms)}};
}

// What the changes came to over connections that did well.
std::string in_words(near_figures::sights const& good) {
  if (good.pairs == 0) return "no change came over one";
  if (good.unseen == 0) {
    return fmt::format("each change was served everywhere, after {} ms at most",
                       in_ms(good.after_ms));
  }
  std::string text = fmt::format("{} of {} times a change was not served", good.unseen, good.pairs);
  if (good.any_seen()) text += fmt::format(", else after {} ms at most", in_ms(good.after_ms));
  return text;
}

std::string in_words_of_frozen(near_figures::sights const& frozen, milliseconds max_staleness) {
  constexpr char const* next_line = "\n                   ";
  std::string text = fmt::format("an old value was served for {} ms at most (--max-staleness {});",
                                 in_ms(frozen.old_ms), say(max_staleness));
  if (frozen.any_seen()) {
    text += fmt::format(" the{}new one came after {} ms at most, when the connection went on",
                        next_line, in_ms(frozen.after_ms));
  }
  if (frozen.unseen > 0) {
    text += fmt::format("{}{} of {} times a change was not served", next_line, frozen.unseen,
                        frozen.pairs);
  }
  return text;
}

}  // namespace

double near_teller::since_begin_ms(std::int64_t at_ns) const {
  return static_cast<double>(at_ns - began_ns_) / 1e6;
}

void near_teller::begin(std::int64_t now_ns) {
  began_ns_ = now_ns;
  if (options_.json) return;
  fmt::print(
      "One value, changed every {}; {} read it, each from what it keeps itself.\n"
      "A number: so many ms behind the acknowledged write the process served it. old: still an "
      "older\none, for {} at most. waits: no answer, it asks the store.\n\n",
      say(options_.every), counted(options_.processes, "process", "processes"),
      say(options_.max_staleness));
  std::string head = fmt::format("{:>8} {:>7}", "time", "change");
  for (std::size_t n = 1; n <= options_.processes; ++n) head += fmt::format(" {:>6}", n);
  fmt::print("{}\n", head);
  flush_output();
}

std::string near_teller::cell(std::size_t reader, std::int64_t change, std::int64_t now_ns) const {
  near_sight const sight = sight_of(board_, reader, change);
  if (sight.seen) return in_ms(sight.after_ms);
  reader_record const& who = board_.reader(reader);
  if (who.failed_ns > who.answered_ns) return "fails";
  return now_ns - who.answered_ns > silence_ns ? "waits" : "old";
}

void near_teller::row(std::int64_t change, std::int64_t now_ns) {
  told_ = change;
  if (options_.json) {
    progress_.show(fmt::format("change {} of {} …", change, options_.most_changes()));
    return;
  }
  std::string line =
      fmt::format("{:>6.1f} s {:>7}", since_begin_ms(board_.acknowledged_at(change)) / 1e3, change);
  for (std::size_t reader = 0; reader < board_.readers(); ++reader) {
    line += fmt::format(" {:>6}", cell(reader, change, now_ns));
  }
  fmt::print("{}\n", line);
  flush_output();
}

void near_teller::follow(std::int64_t now_ns) {
  while (told_ + 1 < board_.acknowledged()) row(told_ + 1, now_ns);
}

void near_teller::catch_up(std::int64_t now_ns) {
  while (told_ < board_.acknowledged()) row(told_ + 1, now_ns);
}

void near_teller::event(std::int64_t now_ns, char const* what) {
  follow(now_ns);
  if (options_.json || options_.frozen == 0) return;
  fmt::print("{:>6.1f} s         the {} of {} {}\n", since_begin_ms(now_ns) / 1e3,
             options_.frozen == 1 ? "connection" : "connections", names_of_frozen(options_), what);
  flush_output();
}

void near_teller::frozen(std::int64_t now_ns) {
  event(now_ns, options_.frozen == 1 ? "stands still" : "stand still");
}

void near_teller::thawed(std::int64_t now_ns) {
  event(now_ns, options_.frozen == 1 ? "goes on" : "go on");
}

void near_teller::figures(near_figures const& seen) const {
  fmt::print("\nconnection good    {}\n", in_words(seen.good));
  if (seen.frozen.pairs > 0) {
    fmt::print("connection frozen  {}\n", in_words_of_frozen(seen.frozen, options_.max_staleness));
  }
  fmt::print("behind a fence     {} reads, {} of them older than their fence\n",
             with_commas(seen.fenced), with_commas(seen.stale_fenced));
  fmt::print("all reads          {}, of these near hits {:.3f} %: answered without asking Redis\n",
             with_commas(seen.reads), 100 * seen.share_of_near_hits());
  if (seen.failures > 0) {
    fmt::print("without an answer  {}, while the store was out of reach\n",
               with_commas(seen.failures));
  }
  if (seen.gone > 0) {
    fmt::print("without a value    {}: somebody removed it, or the server lacks memory\n",
               with_commas(seen.gone));
  }
  if (seen.failed_writes > 0) {
    fmt::print("writes             {} without an answer in time, done again\n",
               with_commas(seen.failed_writes));
  }
  for (auto const& each : broken_promises(seen, options_.max_staleness)) {
    fmt::print("BROKEN             {}\n", each);
  }
  flush_output();
}

void near_teller::json(near_figures const& seen, near_freeze const& freeze) {
  progress_.show({});
  auto changes = nlohmann::ordered_json::array();
  for (std::int64_t change = 1; change <= seen.changes; ++change) {
    auto after = nlohmann::ordered_json::array();
    auto old = nlohmann::ordered_json::array();
    auto frozen = nlohmann::ordered_json::array();
    for (std::size_t reader = 0; reader < board_.readers(); ++reader) {
      near_sight const sight = sight_of(board_, reader, change);
      if (sight.seen) {
        after.push_back(to_micros(sight.after_ms));
      } else {
        after.push_back(nullptr);
      }
      old.push_back(to_micros(sight.old_ms));
      if (stood_still(board_, freeze, reader, change)) frozen.push_back(reader + 1);
    }
    changes.push_back({{"change", change},
                       {"at_ms", to_micros(since_begin_ms(board_.acknowledged_at(change)))},
                       {"served_after_ms", after},
                       {"old_for_ms", old},
                       {"frozen", frozen}});
  }
  nlohmann::ordered_json const all{{"store", options_.shown},
                                   {"processes", options_.processes},
                                   {"frozen_processes", options_.frozen},
                                   {"max_staleness_ms", options_.max_staleness.count()},
                                   {"freeze_ms", options_.freeze.count()},
                                   {"reads", seen.reads},
                                   {"near_hits", seen.near_hits},
                                   {"gone", seen.gone},
                                   {"failures", seen.failures},
                                   {"failed_writes", seen.failed_writes},
                                   {"fenced_reads", seen.fenced},
                                   {"stale_behind_fence", seen.stale_fenced},
                                   {"unseen", seen.unseen()},
                                   {"good", json_of(seen.good)},
                                   {"frozen", json_of(seen.frozen)},
                                   {"broken", broken_promises(seen, options_.max_staleness)},
                                   {"changes", changes}};
  auto const text = all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fputs(text.c_str(), stdout);
  flush_output();
}

}  // namespace herdlock::cli
