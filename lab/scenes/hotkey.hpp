// What the parts of `herdlock-lab hotkey` share: its options, and the board of one run.
#pragma once

#include <atomic>
#include <cstdint>
#include <herdlock/types.hpp>
#include <string>

#include "stage/clock.hpp"
#include "stage/latencies.hpp"
#include "stage/shared.hpp"

namespace herdlock::lab {

struct hotkey_options {
  // A run has a hundred slices of time: in the first fifth nobody asks for the key, in the next two
  // all do, and in the rest nobody does.
  static constexpr std::size_t slices = 100;
  static constexpr std::size_t first_loaded = slices / 5;
  static constexpr std::size_t behind_loaded = slices * 3 / 5;

  std::string store;     ///< empty: a temporary file
  int processes = 10;    ///< that ask
  int rate = 20'000;     ///< requests a second for the key, of all processes
  int keys = 10'000;     ///< that are asked for beside it
  int threshold = 1000;  ///< reads a second from which a key is hot in a process
  milliseconds time = std::chrono::seconds(10);  ///< of one run

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

/// Whether processes can keep values of the store near.
enum class hotkey_keeping {
  cannot,    ///< it pushes no changes
  needless,  ///< it is in the process itself
  can,
};
enum class hotkey_run { without, with };

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
  using time = std::atomic<std::int64_t>;

  std::atomic<bool> ready{false};
  std::atomic<bool> done{false};  ///< it asks no more
  time found_ns{0};
  time kept_ns{0};
  time cooled_ns{0};  ///< the last time
  std::atomic<bool> hot{false};
  std::atomic<std::int64_t> became_hot{0};
  // Told when it is done.
  std::atomic<std::int64_t> reports{0};  ///< to the other processes, over the store
  std::atomic<std::int64_t> store_errors{0};
};

/// What is asked for.
enum class hotkey_kind : std::size_t { key, others };

/// What the processes of one run share.
class hotkey_board {
 public:
  struct head {
    std::atomic<hotkey_phase> phase{hotkey_phase::filling};
    std::atomic<std::int64_t> began_ns{0};  ///< the first slice; before the phase is `playing`
  };

  hotkey_board(std::size_t of_processes, milliseconds slice)
      : processes(of_processes),
        slice_ns(in_ns(slice)),
        calls_(of_processes * 2 * hotkey_options::slices) {}

  call_record& in_slice(std::size_t process, hotkey_kind kind, std::size_t slice) {
    return calls_[index(process, kind, slice)];
  }
  call_record const& in_slice(std::size_t process, hotkey_kind kind, std::size_t slice) const {
    return calls_[index(process, kind, slice)];
  }
  /// Null in front of the first slice, and behind the last one.
  call_record* at_time(std::size_t process, hotkey_kind kind, std::int64_t time_ns) {
    auto const since = time_ns - now->began_ns;
    if (since < 0) return nullptr;
    auto const slice = static_cast<std::size_t>(since / slice_ns);
    return slice < hotkey_options::slices ? &in_slice(process, kind, slice) : nullptr;
  }

  shared<head> now;
  shared_array<hotkey_process> processes;
  std::int64_t const slice_ns;

 private:
  static std::size_t index(std::size_t process, hotkey_kind kind, std::size_t slice) {
    return (process * 2 + static_cast<std::size_t>(kind)) * hotkey_options::slices + slice;
  }

  shared_array<call_record> calls_;
};

struct hotkey_terms {
  hotkey_options options;  ///< with a store
  std::string prefix;      ///< of the cache's keys; the same in both runs
  hotkey_run run = hotkey_run::without;
  hotkey_keeping keeping = hotkey_keeping::cannot;
  milliseconds patience{};
};

/// In a process: it asks a cache, at an even rate, by the phases of the board.
void ask_for_keys(hotkey_terms const& terms, std::size_t number, hotkey_board& board);

}  // namespace herdlock::lab
