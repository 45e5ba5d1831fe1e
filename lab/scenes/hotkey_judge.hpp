// What came of a run of `herdlock-lab hotkey`, and what of it is not as it is promised.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "scenes/hotkey.hpp"
#include "stage/report.hpp"

namespace herdlock::lab {

/// Calls of all processes in some slices.
struct call_figures {
  latency_sum took;
  std::uint64_t asked = 0;
  std::uint64_t failed = 0;
  std::uint64_t left_out = 0;

  void add(call_record const& more) {
    took.add(more.took);
    asked += more.asked;
    failed += more.failed;
    left_out += more.left_out;
  }
};

struct hotkey_calls {
  call_figures key;
  call_figures others;
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
  std::int64_t reports = 0;
  std::int64_t store_errors = 0;
  // While it was asked for: up to the end of the slice in which the last process began to keep the
  // key, and behind it. Nothing when not all kept it, or no slice is left.
  call_figures others_until_kept{};
  call_figures others_when_kept{};
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
    double const slices = static_cast<double>(in::behind_loaded - first);
    asked_when_kept = static_cast<double>(behind.key.asked) / (slices * in_seconds(board.slice_ns));
  }
};

/// The run with hot keys.
inline void judge_hotkey(hotkey_figures const& seen, judge& by) {
  auto const made = seen.key.took.count();
  if (seen.key.left_out > made) {
    return by.demand(false, fmt::format("this machine is too slow for that --rate: {} of {} "
                                        "requests were left out",
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

}  // namespace herdlock::lab
