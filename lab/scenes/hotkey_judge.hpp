// What came of a run of `herdlock-lab hotkey`, and what of it is not as it is promised.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "scenes/hotkey.hpp"
#include "stage/report.hpp"

namespace herdlock::lab {

/// Calls of all processes in some slices.
struct call_figures {
  latency_sum took;
  std::uint64_t asked = 0;
  std::uint64_t failed = 0;
  std::uint64_t left_out = 0;
};

/// Slices from `first` on, without `behind`.
inline call_figures sum(hotkey_board const& board, hotkey_kind kind, std::size_t first,
                        std::size_t behind) {
  call_figures all;
  for (std::size_t n = 0; n < board.processes.size(); ++n) {
    for (std::size_t slice = first; slice < behind; ++slice) {
      call_record const& one = board.in_slice(n, kind, slice);
      all.took.add(one.took);
      all.asked += one.asked;
      all.failed += one.failed;
      all.left_out += one.left_out;
    }
  }
  return all;
}

struct slice_figures {
  call_figures key;
  call_figures others;
};
inline std::vector<slice_figures> each_slice(hotkey_board const& board) {
  std::vector<slice_figures> all;
  for (std::size_t at = 0; at < hotkey_options::slices; ++at) {
    all.push_back(
        {sum(board, hotkey_kind::key, at, at + 1), sum(board, hotkey_kind::others, at, at + 1)});
  }
  return all;
}

/// When it came to something, in milliseconds since the run began.
struct hotkey_moment {
  std::size_t processes = 0;  ///< in which it came to it
  std::optional<double> first_ms;
  std::optional<double> last_ms;  ///< of the processes in which it did
};

inline hotkey_moment moment(hotkey_board const& board, hotkey_process::time hotkey_process::*when) {
  hotkey_moment all;
  for (auto const& one : board.processes) {
    std::int64_t const at = one.*when;
    if (at == 0) continue;
    double const ms = in_ms(at - board.now->began_ns);
    all.first_ms = std::min(all.first_ms.value_or(ms), ms);
    all.last_ms = std::max(all.last_ms.value_or(ms), ms);
    ++all.processes;
  }
  return all;
}

struct hotkey_figures {
  call_figures key;            ///< while it was asked for
  call_figures others;         ///< meanwhile
  call_figures others_before;  ///< before that
  hotkey_moment found;
  hotkey_moment kept;
  hotkey_moment cooled;
  std::int64_t became_hot = 0;  ///< in the process where it did so most often
  std::int64_t reports = 0;
  std::int64_t store_errors = 0;
  /// In the whole slices behind the one in which the last process began to keep the key, while it
  /// was asked for. Nothing when not all kept it, or there are none.
  struct when_kept {
    double asked_a_second = 0;  ///< the store, for the key
    call_figures others;
  };
  std::optional<when_kept> kept_by_all;
};

inline hotkey_figures count(hotkey_board const& board) {
  using in = hotkey_options;
  hotkey_figures all;
  all.key = sum(board, hotkey_kind::key, 0, in::slices);
  all.others = sum(board, hotkey_kind::others, in::first_loaded, in::behind_loaded);
  all.others_before = sum(board, hotkey_kind::others, 0, in::first_loaded);
  all.found = moment(board, &hotkey_process::found_ns);
  all.kept = moment(board, &hotkey_process::kept_ns);
  all.cooled = moment(board, &hotkey_process::cooled_ns);
  for (auto const& one : board.processes) {
    all.became_hot = std::max(all.became_hot, one.became_hot.load());
    all.reports += one.reports;
    all.store_errors += one.store_errors;
  }
  if (all.kept.processes < board.processes.size()) return all;
  auto const first = static_cast<std::size_t>(*all.kept.last_ms / in_ms(board.slice_ns)) + 1;
  if (first >= in::behind_loaded) return all;
  auto const key = sum(board, hotkey_kind::key, first, in::behind_loaded);
  double const seconds =
      in_seconds(board.slice_ns) * static_cast<double>(in::behind_loaded - first);
  all.kept_by_all = {static_cast<double>(key.asked) / seconds,
                     sum(board, hotkey_kind::others, first, in::behind_loaded)};
  return all;
}

/// The run with hot keys.
inline void judge_hotkey(hotkey_figures const& seen, std::size_t processes, hotkey_keeping keeping,
                         judge& by) {
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
  in_all(seen.found, processes, "find the key");
  if (keeping == hotkey_keeping::can) in_all(seen.kept, processes, "keep it");
  in_all(seen.cooled, seen.found.processes, "call it cooled");
  auto const failed = seen.key.failed + seen.others.failed;
  by.demand(failed == 0, fmt::format("{} calls had no answer", failed));
}

}  // namespace herdlock::lab
