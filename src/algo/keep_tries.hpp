// When a read of a hot key is to bring a value that can be kept: it costs the server three
// commands instead of one, for nothing where the value cannot be kept.
//
//   free ──── sent ────> under way ── answered ──> paused ── a change, or time ──> free
//                        under way ── a change ── answered ──────────────────────> free
//
// So one is under way at a time. The pause is counted from when it was sent: where an answer takes
// longer than that, another one is sent, and only the latest counts.
//
// Pure: the time is an argument.
#pragma once

#include <cstdint>

#include <herdlock/types.hpp>

namespace herdlock::algo {

class keep_tries {
 public:
  static constexpr milliseconds pause{100};

  bool may_send(clock::time_point now) const noexcept { return next_ <= now; }
  /// A read is sent. Returns its number.
  std::uint64_t sent(clock::time_point now) noexcept {
    next_ = now + pause;
    under_way_ = true;
    changed_ = false;
    return ++last_;
  }
  void answered(std::uint64_t number) noexcept {
    if (number != last_) return;
    under_way_ = false;
    if (changed_) next_ = {};
  }
  /// The value has changed, or is kept: the next one may be, too.
  void changed() noexcept {
    changed_ = true;
    if (!under_way_) next_ = {};
  }

 private:
  clock::time_point next_{};
  bool under_way_ = false;
  bool changed_ = false;  // since the latest was sent
  std::uint64_t last_ = 0;
};

}  // namespace herdlock::algo
