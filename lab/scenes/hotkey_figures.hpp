// What came of a run of `herdlock demo hotkey`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenes/hotkey_board.hpp"

namespace herdlock::cli {

/// Calls of all processes in some slices.
struct call_figures {
  std::uint64_t calls = 0;
  std::uint64_t asked = 0;
  std::uint64_t failed = 0;
  std::uint64_t left_out = 0;
  // Of those that were answered; 0 where none was.
  double p50_ms = 0;
  double p99_ms = 0;
  double slowest_ms = 0;
};

/// Slices from `first` on, without `behind`.
call_figures sum(hotkey_board const& board, hotkey_kind kind, std::size_t first,
                 std::size_t behind);

/// When it came to something, in milliseconds since the run began.
struct hotkey_moment {
  std::size_t processes = 0;  ///< in which it came to it
  std::optional<double> first_ms;
  std::optional<double> last_ms;  ///< of the processes in which it did
};

struct hotkey_figures {
  call_figures key;     ///< while it was asked for
  call_figures others;  ///< meanwhile
  hotkey_moment found;
  hotkey_moment kept;
  hotkey_moment cooled;
  std::int64_t became_hot = 0;  ///< in the process where it did so most often
  std::int64_t reports = 0;
  std::int64_t store_errors = 0;
  /// Questions for the key to the store, a second: in the whole slices behind the one in which the
  /// last process began to keep it. Nothing when not all kept it, or there are none.
  std::optional<double> asked_a_second_when_kept;
};

/// The slices in which the key was asked for.
struct hotkey_span {
  std::size_t first = 0;
  std::size_t behind = 0;
  double slice_ms = 0;
};
hotkey_figures count(hotkey_board const& board, hotkey_span loaded);

/// Whether processes can keep values of the store near.
enum class hotkey_keeping {
  cannot,    ///< it pushes no changes
  needless,  ///< it is in the process itself
  can,
};
/// A sentence for each thing that did not come about in the run with hot keys.
std::vector<std::string> shortcomings(hotkey_figures const& seen, std::size_t processes,
                                      hotkey_keeping keeping);

}  // namespace herdlock::cli
