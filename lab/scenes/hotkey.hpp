// `herdlock-lab hotkey`: its terms, the board of one run, what came of a run, what of it is not as
// it is promised, and how it is shown.
#pragma once

#include <optional>

#include "stage/stage.hpp"

namespace herdlock::lab {

struct hotkey_terms {
  // A run has a hundred slices of time: in the first fifth nobody asks for the key, in the next two
  // all do, and in the rest nobody does.
  static constexpr std::size_t slices = 100;
  static constexpr std::size_t first_loaded = slices / 5;
  static constexpr std::size_t behind_loaded = slices * 3 / 5;
  static constexpr milliseconds patience{60'000};

  std::string store{};        ///< empty: a temporary file
  int processes = 10;         ///< that ask
  int rate = 20'000;          ///< requests a second for the key, of all processes
  int keys = 10'000;          ///< that are asked for beside it
  int threshold = 1000;       ///< reads a second from which a key is hot in a process
  milliseconds time{10'000};  ///< of one run
  /// Processes can keep values of the store near: it pushes changes, and is not in the process.
  bool can_keep = false;
  // Known once the store is there.
  std::string shown{};   ///< the store, as people may see it
  std::string prefix{};  ///< of the cache's keys; the same in both runs

  milliseconds slice() const { return time / slices; }
  milliseconds load_from() const { return slice() * first_loaded; }
  milliseconds load_to() const { return slice() * behind_loaded; }
  /// In which keys are counted: how long they are hot behind their last requests.
  milliseconds window() const { return time * 3 / 20; }
  double fleet_threshold() const { return 10.0 * threshold; }
  double rate_of_each() const { return static_cast<double>(rate) / processes; }
  /// Requests a second for the other keys, of all processes, all the time.
  double rate_of_others() const { return rate / 10.0; }
};

/// What the processes are at. It only goes on.
enum class hotkey_phase {
  filling,  ///< the cache
  playing,
  ending,    ///< nobody asks any more
  clearing,  ///< behind the last run the entries are removed
};

/// Calls of one process in one slice. One thread writes it.
struct call_record {
  using count = std::atomic<std::uint32_t>;

  latencies took;     ///< of those that were answered
  count asked{0};     ///< of these, for the hot key: the store was asked
  count failed{0};    ///< made, and not answered
  count left_out{0};  ///< not made: it was too late for them
};

/// What one process tells. Times are those of the steady clock, in nanoseconds; 0: not yet.
struct hotkey_process {
  using flag = std::atomic<bool>;
  using number = std::atomic<std::int64_t>;
  using calls = std::array<call_record, hotkey_terms::slices>;

  calls key{};
  calls others{};
  flag ready{false};
  flag done{false};     ///< it asks no more
  flag is_cool{true};   ///< the key, by its counts
  number found_ns{0};   ///< the first time
  number kept_ns{0};    ///< the first time
  number cooled_ns{0};  ///< the last time
  number became_hot{0};
  // Told when it is done.
  number reports{0};  ///< to the other processes, over the store
  number store_errors{0};
};

/// What the processes of one run share.
struct hotkey_board {
  struct head {
    std::atomic<hotkey_phase> phase{hotkey_phase::filling};
    std::atomic<std::int64_t> began_ns{0};  ///< the first slice; before the phase is `playing`
  };

  hotkey_terms const& how;
  bool const hot_keys;  ///< the caches find them
  std::int64_t const slice_ns = in_ns(how.slice());
  shared<head> now{};
  shared_array<hotkey_process> processes{static_cast<std::size_t>(how.processes)};

  /// Null in front of the first slice, and behind the last one.
  call_record* in_slice(hotkey_process::calls& of, std::int64_t time_ns) const {
    auto const since = time_ns - now->began_ns;
    auto const slice = static_cast<std::size_t>(since / slice_ns);
    return since >= 0 && slice < of.size() ? &of[slice] : nullptr;
  }
};

/// In a process: it asks a cache, at an even rate, by the phases of the board.
void ask_for_keys(hotkey_board& board, std::size_t number);

/// Calls of all processes in some slices.
struct call_figures {
  latency_sum took;
  std::uint64_t asked = 0, failed = 0, left_out = 0;

  void add(call_record const& more) {
    took.add(more.took);
    asked += more.asked;
    failed += more.failed;
    left_out += more.left_out;
  }
};

struct hotkey_calls {
  call_figures key, others;
};

/// Slices from `first` on, without `behind`.
inline hotkey_calls sum(hotkey_board const& board, std::size_t first, std::size_t behind) {
  hotkey_calls all;
  for (auto const& one : board.processes) {
    for (auto slice = first; slice < behind; ++slice) {
      all.key.add(one.key[slice]);
      all.others.add(one.others[slice]);
    }
  }
  return all;
}

/// When it came to something, in milliseconds since the run began.
struct hotkey_moment {
  std::size_t processes = 0;  ///< in which it came to it
  std::optional<double> first_ms{};
  std::optional<double> last_ms{};  ///< of the processes in which it did

  hotkey_moment(hotkey_board const& board, hotkey_process::number hotkey_process::*when) {
    for (auto const& one : board.processes) {
      std::int64_t const at = one.*when;
      if (at == 0) continue;
      double const ms = in_ms(at - board.now->began_ns);
      first_ms = std::min(first_ms.value_or(ms), ms);
      last_ms = std::max(last_ms.value_or(ms), ms);
      ++processes;
    }
  }
};

struct hotkey_figures {
  using in = hotkey_terms;

  hotkey_board const& board;
  call_figures key = sum(board, 0, in::slices).key;  ///< while it was asked for
  call_figures others = sum(board, in::first_loaded, in::behind_loaded).others;  ///< meanwhile
  call_figures others_before = sum(board, 0, in::first_loaded).others;
  hotkey_moment found{board, &hotkey_process::found_ns};
  hotkey_moment kept{board, &hotkey_process::kept_ns};
  hotkey_moment cooled{board, &hotkey_process::cooled_ns};
  std::int64_t became_hot = 0;  ///< in the process where it did so most often
  std::int64_t reports = 0, store_errors = 0;
  // While it was asked for: up to the end of the slice in which the last process began to keep the
  // key, and behind it. Nothing when not all kept it, or no slice is left.
  call_figures others_until_kept{}, others_when_kept{};
  std::optional<double> asked_when_kept{};  ///< the store, for the key: so often a second

  explicit hotkey_figures(hotkey_board const& of) : board(of) {
    for (auto const& one : board.processes) {
      became_hot = std::max(became_hot, one.became_hot.load());
      reports += one.reports;
      store_errors += one.store_errors;
    }
    if (kept.processes < board.processes.size()) return;
    auto const first = static_cast<std::size_t>(*kept.last_ms / in_ms(board.slice_ns)) + 1;
    if (first >= in::behind_loaded) return;
    auto const behind = sum(board, first, in::behind_loaded);
    others_until_kept = sum(board, in::first_loaded, first).others;
    others_when_kept = behind.others;
    auto const slices = in::behind_loaded - first;
    asked_when_kept = behind.key.asked / (slices * in_seconds(board.slice_ns));
  }
};

/// The run with hot keys.
inline void judge_hotkey(hotkey_figures const& seen, judge& by) {
  auto const made = seen.key.took.count();
  if (seen.key.left_out > made) {
    return by.demand(false,
                     fmt::format("this machine is too slow for that --rate: {} of {} requests "
                                 "were left out",
                                 seen.key.left_out, seen.key.left_out + made));
  }
  auto const in_all = [&](hotkey_moment const& of, std::size_t all, char const* did_not) {
    by.demand(of.processes >= all,
              fmt::format("{} of {} processes did not {}", all - of.processes, all, did_not));
  };
  auto const processes = seen.board.processes.size();
  in_all(seen.found, processes, "find the key");
  if (seen.board.how.can_keep) in_all(seen.kept, processes, "keep it");
  in_all(seen.cooled, seen.found.processes, "call it cooled");
  auto const failed = seen.key.failed + seen.others.failed;
  by.demand(failed == 0, fmt::format("{} calls had no answer", failed));
}

/// Without hot keys, and with them.
using hotkey_runs = std::array<hotkey_figures, 2>;

/// In lines, and as data.
void tell_hotkey(hotkey_runs const& runs, judge const& judged, report& out);
/// An SVG document.
std::string drawn_hotkey(hotkey_runs const& runs);

/// Why the p99 of the other keys is what it is, in lines: what a viewer will ask.
std::vector<std::string> why_others_wait(hotkey_figures const& run);

/// `0.0004`, `0.32`, `4.51`, `12`
inline std::string short_ms(double ms) {
  return fmt::format("{:.{}f}", ms, ms < 0.0995 ? 4 : ms < 9.95 ? 2 : 0);
}
inline std::string short_p99(call_figures const& of) {
  return short_ms(of.took.percentile_ms(0.99));
}

}  // namespace herdlock::lab
