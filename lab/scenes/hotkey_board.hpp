// What the processes of one run of `herdlock demo hotkey` share: what became of their calls, in
// slices of time, and when the key was found, kept and cooled.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stage/complaint.hpp"
#include "stage/shared_array.hpp"

namespace herdlock::cli {

/// What the processes are at. It only goes on.
enum class hotkey_stage : int {
  starting,  ///< they fill the cache
  playing,
  ending,    ///< nobody asks any more
  clearing,  ///< behind the last run the entries are removed
};

/// How often something took how long: eight bins for each doubling of the time.
namespace latency_bins {
inline constexpr std::size_t size = 240;
std::size_t of(std::int64_t ns);
/// The longest time of the bin.
double upper_ns(std::size_t bin);
}  // namespace latency_bins

/// Calls of one process in one slice. One thread writes it.
struct call_record {
  using count = std::atomic<std::uint32_t>;

  count calls{0};     ///< that were made, and answered
  count asked{0};     ///< of these, for the hot key: the store was asked
  count failed{0};    ///< made, and not answered
  count left_out{0};  ///< not made: it was too late for them
  std::atomic<std::int64_t> slowest_ns{0};
  std::array<count, latency_bins::size> took{};  ///< of `calls`
};

/// Of one process. Times are those of the steady clock, in nanoseconds; 0: not yet.
struct hotkey_record {
  using time = std::atomic<std::int64_t>;
  static_assert(time::is_always_lock_free);

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

/// Made before the processes are forked.
class hotkey_board {
 public:
  hotkey_board(std::size_t processes, std::size_t slices, std::int64_t slice_ns);

  std::size_t processes() const { return records_.size(); }
  std::size_t slices() const { return slices_; }
  hotkey_record& process(std::size_t n) { return records_[n]; }
  hotkey_record const& process(std::size_t n) const { return records_[n]; }

  hotkey_stage stage() const { return head_[0].stage; }
  void go_on_to(hotkey_stage next) { head_[0].stage = next; }
  /// When the first slice begins; before the stage is `playing`.
  void begin(std::int64_t at_ns) { head_[0].began_ns = at_ns; }
  std::int64_t began_ns() const { return head_[0].began_ns; }
  complaint& why() { return head_[0].why; }
  complaint const& why() const { return head_[0].why; }

  /// Null in front of the first slice, and behind the last one.
  call_record* at(std::size_t process, hotkey_kind kind, std::int64_t time_ns);
  call_record const& at(std::size_t process, hotkey_kind kind, std::size_t slice) const {
    return calls_[index(process, kind, slice)];
  }

 private:
  struct head {
    std::atomic<hotkey_stage> stage{hotkey_stage::starting};
    std::atomic<std::int64_t> began_ns{0};
    complaint why;
  };

  std::size_t index(std::size_t process, hotkey_kind kind, std::size_t slice) const {
    return (process * 2 + static_cast<std::size_t>(kind)) * slices_ + slice;
  }

  std::size_t const slices_;
  std::int64_t const slice_ns_;
  shared_array<head> head_;
  shared_array<hotkey_record> records_;
  shared_array<call_record> calls_;
};

}  // namespace herdlock::cli
