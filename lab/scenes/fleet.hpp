// Scene `fleet`: its terms, what its processes share, and what is demanded of a fleet of one size.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "stage/stage.hpp"

namespace herdlock::lab::fleet {

inline constexpr std::size_t most_processes = 20;
inline constexpr std::size_t most_members = 2000;
inline constexpr std::size_t most_keys = 64;
/// Members with a process of their own: the first collector, and the one who waits to be the next.
/// So those who stand still or die with their collector do not wait in front of the others.
inline constexpr std::size_t apart = 2;
/// Nobody collects for so long at most: the ttl of the election, the interval in which the next one
/// only listens, and half a second.
inline constexpr milliseconds longest_silence{2000 + 1000 + 500};
/// A list that nobody may believe says that so many processes report.
inline constexpr std::uint32_t forged_processes = 0x7fff'0000;

struct terms {
  std::string store{};  ///< empty: a Redis of the scene's own
  std::vector<std::size_t> sizes{};
  std::size_t processes = most_processes;
  std::size_t keys = most_keys;
  int rate = 5;  ///< reads a second of each key by each member
  int times = 1;
  milliseconds time{10'000};
  milliseconds window{2000};
  // Of one size.
  std::size_t members = 0;
  std::string prefix{};

  /// Each member reads at a fiftieth of it, or as much more as a smaller fleet needs, and all of
  /// them together at twice of it at least.
  double fleet_threshold() const {
    return rate * static_cast<double>(std::min<std::size_t>(members, 100)) / 2;
  }
};

using count = std::atomic<std::int64_t>;

struct process {
  count pid{0};
  std::array<count, most_keys> kept_ns{};  // since then all its members have kept the key
  count asked_server{0};                   // reads that were not answered by what is kept
  count failed{0};                         // reads
  count refused{0};                        // lists with an old number, by all its members
  count believed{0};                       // members that took the forged list
};

struct board {
  std::array<process, most_processes> processes{};
  std::array<count, most_keys> first_ns{};  // the first call
  std::atomic<std::size_t> ready{0};        // processes
  std::atomic<std::size_t> standing{0};     // processes that report before there are keys
  std::atomic<std::size_t> asked{0};        // keys that all read
  std::atomic<bool> stop{false};

  std::int64_t sum(count process::*of) const {
    std::int64_t all = 0;
    for (auto const& one : processes) all += one.*of;
    return all;
  }
  /// When the last process kept the key; 0: not yet.
  std::int64_t kept_ns(std::size_t key, std::size_t by_processes) const {
    std::int64_t last = 0;
    for (auto const& one : std::span(processes).first(by_processes)) {
      if (one.kept_ns[key] == 0) return 0;
      last = std::max(last, one.kept_ns[key].load());
    }
    return last;
  }
};

/// In a process of the fleet, until the board says stop.
void work(terms const& how, board& seen, std::size_t number, std::string const& url);

/// The server's work; so far, or a second.
struct traffic {
  double received = 0, sent = 0;  ///< bytes
  double commands = 0;            ///< with those that scripts call
  double scripts = 0;             ///< reports, lists, and what the election needs

  double bytes() const { return received + sent; }
  friend traffic operator-(traffic const& a, traffic const& b) {
    return {a.received - b.received, a.sent - b.sent, a.commands - b.commands,
            a.scripts - b.scripts};
  }
  friend traffic operator/(traffic const& a, double by) {
    return {a.received / by, a.sent / by, a.commands / by, a.scripts / by};
  }
};

/// What came of a fleet of one size.
struct figures {
  std::size_t members = 0;
  std::vector<double> kept_ms{};  ///< from the first call for a key until all processes keep it
  traffic a_second{};             ///< while all keys are hot
  double reads_a_second = 0;      ///< of the keys, at the server meanwhile
  // Until the next list. Nothing: there was none.
  std::optional<double> stopped_ms{}, continued_ms{}, killed_ms{};
  std::int64_t late_lists = 0;  ///< of the collector that was stopped, when it went on
  std::int64_t believed = 0;    ///< members that took a list of it
  std::int64_t unheard = 0;     ///< that neither took nor refused it
};

inline void judge_size(terms const& how, figures const& of, judge& by) {
  auto const whose = fmt::format("{} members: ", of.members);
  by.demand(
      of.kept_ms.size() == how.keys,
      whose + fmt::format("only {} of {} keys were kept by all", of.kept_ms.size(), how.keys));
  if (of.kept_ms.size() != how.keys) return;  // there the fleet's part ends
  for (auto const& [did, ms] : {std::pair("was stopped", of.stopped_ms),
                                {"went on", of.continued_ms},
                                {"was killed", of.killed_ms}}) {
    by.demand(ms.has_value(), whose + fmt::format("no list when the collector {}", did));
    auto const most = static_cast<double>(longest_silence.count());
    by.demand(how.times == 0 || ms.value_or(0) <= most,
              whose + fmt::format("no list for {:.0f} ms when the collector {}: more than {:.0f}",
                                  ms.value_or(0), did, most));
  }
  by.demand(of.believed == 0,
            whose + fmt::format("{} believed a list of the stopped collector", of.believed));
  by.demand(
      of.unheard == 0,
      whose + fmt::format("{} did not hear the list of the stopped collector: it shows nothing",
                          of.unheard));
}

/// Twice as many members bring twice as much, and not four times.
inline void judge_growth(std::vector<figures> const& sizes, judge& by) {
  constexpr double most = 1.5;
  std::vector<figures> all;
  for (auto const& one : sizes) {
    if (one.a_second.commands > 0) all.push_back(one);
  }
  auto const least = std::ranges::min_element(all, {}, &figures::members);
  for (auto const& one : all) {
    auto const grew = [&](double of_it, double of_least) {
      return of_it / static_cast<double>(one.members) * static_cast<double>(least->members) /
             of_least;
    };
    auto const bytes = grew(one.a_second.bytes(), least->a_second.bytes());
    auto const commands = grew(one.a_second.commands, least->a_second.commands);
    by.demand(bytes <= most && commands <= most,
              fmt::format("{} members bring {:.2f} times the bytes and {:.2f} times the commands, "
                          "each of them, that {} bring: more than {}",
                          one.members, bytes, commands, least->members, most));
  }
}

/// For programs; table_of() shows it.
inline json row_of(figures const& of) {
  auto const kb = [](double bytes) { return std::llround(bytes / 1000); };
  json row{{"members", of.members},
           {"kb_in", kb(of.a_second.received)},
           {"kb_out", kb(of.a_second.sent)},
           {"commands", std::llround(of.a_second.commands)},
           {"scripts", std::llround(of.a_second.scripts)},
           {"reads", std::llround(of.reads_a_second)},
           {"kept_p50_ms", std::llround(percentile(of.kept_ms, 0.5))},
           {"kept_p99_ms", std::llround(percentile(of.kept_ms, 0.99))}};
  for (auto const& [name, ms] : {std::pair("stopped_ms", of.stopped_ms),
                                 {"continued_ms", of.continued_ms},
                                 {"killed_ms", of.killed_ms}}) {
    if (ms) row[name] = std::llround(*ms);
  }
  row["late_lists"] = of.late_lists;
  row["believed"] = of.believed;
  return row;
}

}  // namespace herdlock::lab::fleet
