// Scene `hot-soak`: what its processes share, and what is demanded of a fleet with a hot key.
#pragma once

#include "stage/stage.hpp"

namespace herdlock::lab::hot_soak {

inline constexpr std::size_t most_processes = 16;
inline constexpr std::size_t most_bursts = 200;
inline constexpr double reads_before = 32;  // hot_keys_options::min_reads
inline constexpr double tick_s = 0.05;
/// A machine may have other work.
inline constexpr milliseconds slack{1000};
/// The same where times are not judged.
inline constexpr milliseconds long_slack{20'000};

struct terms {
  std::string what = "burst";
  int processes = 10;
  int bursts = 20;
  double rate = 2000;  // of each process
  int writes = 1;      // 0: the key is not written
  int times = 0;       // 1: they are judged
  milliseconds every{2000};
  milliseconds time{10'000};
  milliseconds ttl{2000};
  milliseconds window{2000};
};

using count = std::atomic<std::int64_t>;

/// What a process saw of a burst.
struct burst {
  count kept_ns{0};  // when its first call was answered by what it keeps
  count asked{0};    // calls that went to the server before
  // From the end of one of these to the end of the next: as long as that one, or the machine
  // stood still.
  count longest_ns{0};
};

struct process {
  std::array<burst, most_bursts> bursts{};
  count calls{0}, near_hits{0}, misses{0}, stale{0}, behind_fence{0};
  count became_hot{0}, cooled{0}, reported{0};
  count reported_before{0};  // the crowd's time began
  count let_go_ns{0};        // behind the last call
};

struct board {
  std::array<process, most_processes> processes{};
  std::atomic<int> joined{0};
  std::atomic<int> burst{0};  // the one that goes on, from 1; 0: none
  std::atomic<bool> quiet{false};
  count acknowledged{0};  // the last value whose write was
  std::atomic<int> ended{0};
  std::atomic<bool> stop{false};

  std::int64_t sum(count process::*of) const {
    std::int64_t all = 0;
    for (auto const& one : processes) all += one.*of;
    return all;
  }
  std::int64_t most(count process::*of) const {
    std::int64_t all = 0;
    for (auto const& one : processes) all = std::max(all, (one.*of).load());
    return all;
  }
};

/// In a process of the fleet, until the board says stop.
void work(terms const& how, board& seen, std::size_t number, std::string const& url);

/// So often may a process ask until it keeps the key. One that stood still for longer than a tick
/// has ticked late, too.
inline double most_asked(terms const& how, burst const& of) {
  return reads_before + how.rate * (tick_s + in_seconds(of.longest_ns)) + 1;
}

struct bursts_seen {
  int within = 0, beyond = 0;     // what they may ask
  std::vector<double> asked;      // by a process in a burst
  std::vector<double> spread_ms;  // of the last process behind the first

  bursts_seen(terms const& how, board const& seen) {
    for (int number = 1; number <= how.bursts; ++number) {
      std::vector<std::int64_t> kept;
      for (int n = 0; n < how.processes; ++n) {
        auto const& its = seen.processes.at(n).bursts.at(number);
        ++(static_cast<double>(its.asked) <= most_asked(how, its) ? within : beyond);
        asked.push_back(static_cast<double>(its.asked));
        kept.push_back(its.kept_ns);
      }
      auto const [first, last] = std::minmax_element(kept.begin(), kept.end());
      spread_ms.push_back(in_ms(*last - *first));
    }
  }
};

/// What is not on the board.
struct crowd_seen {
  double reports_a_second = 0;   // of the process that sent most
  double commands_a_second = 0;  // for the key
  double writes_a_second = 0;
  bool entry_ended = false;  // in time, when nobody asked any more
};

inline void judge_end(terms const& how, board const& seen, judge& by) {
  by.demand(seen.ended == how.processes,
            fmt::format("only {} of {} processes have told their figures", seen.ended.load(),
                        how.processes));
}

inline void judge_bursts(bursts_seen const& all, judge& by) {
  int const made = all.within + all.beyond;
  by.demand(all.within >= 0.99 * made,
            fmt::format("{} of {} times a process asked the server more often than its reads, a "
                        "tick and a round trip allow",
                        all.beyond, made));
  auto const spread = percentile(all.spread_ms, 0.5);
  by.demand(spread <= 50, fmt::format("the fleet keeps it {:.1f} ms behind the first process, at "
                                      "p50: more than 50",
                                      spread));
}

inline void judge_even(board const& seen, judge& by) {
  auto const hot = seen.most(&process::became_hot);
  auto const cooled = seen.most(&process::cooled);
  by.demand(hot <= 1 && cooled <= 1,
            fmt::format("the key came and went: hot {} times, cooled {} times", hot, cooled));
}

inline void judge_crowd(terms const& how, board const& seen, crowd_seen const& of, judge& by) {
  by.demand(
      of.reports_a_second <= 20,
      fmt::format("a process sent {:.1f} reports a second: more than 20", of.reports_a_second));
  auto const let_go_ns = seen.most(&process::let_go_ns);
  by.demand(let_go_ns <= in_ns(2 * how.window + slack) || how.times == 0,
            fmt::format("a process let go of it after {:.2f} s", in_seconds(let_go_ns)));
  // Each process reads it anew behind each write, which is a script with a GET.
  double const most = 30 + (3.0 * how.processes + 2) * of.writes_a_second;
  by.demand(of.commands_a_second <= most,
            fmt::format("the server had {:.1f} commands a second for the key: more than {:.1f}",
                        of.commands_a_second, most));
  auto const fenced = seen.sum(&process::behind_fence);
  auto const stale = seen.sum(&process::stale);
  by.demand(stale == 0, fmt::format("of {} calls behind a fence {} were too old", fenced, stale));
  by.demand(fenced > 0, "nobody called behind a fence");
  auto const misses = seen.sum(&process::misses);
  by.demand(misses == 0, fmt::format("the entry ended {} times while it was hot", misses));
  by.demand(of.entry_ended, "the entry did not end when nobody asked any more");
}

}  // namespace herdlock::lab::hot_soak
