// What the parts of `herdlock-lab hotkey` share: its terms, and the board of one run.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <herdlock/types.hpp>
#include <string>

#include "stage/clock.hpp"
#include "stage/latencies.hpp"
#include "stage/shared.hpp"

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

  hotkey_board(hotkey_terms const& terms, bool with_hot_keys)
      : how(terms),
        hot_keys(with_hot_keys),
        slice_ns(in_ns(terms.slice())),
        processes(static_cast<std::size_t>(terms.processes)) {}

  /// Null in front of the first slice, and behind the last one.
  call_record* in_slice(hotkey_process::calls& of, std::int64_t time_ns) const {
    auto const since = time_ns - now->began_ns;
    auto const slice = static_cast<std::size_t>(since / slice_ns);
    return since >= 0 && slice < of.size() ? &of[slice] : nullptr;
  }

  hotkey_terms const& how;
  bool const hot_keys;  ///< the caches find them
  std::int64_t const slice_ns;
  shared<head> now;
  shared_array<hotkey_process> processes;
};

/// In a process: it asks a cache, at an even rate, by the phases of the board.
void ask_for_keys(hotkey_board& board, std::size_t number);

}  // namespace herdlock::lab
