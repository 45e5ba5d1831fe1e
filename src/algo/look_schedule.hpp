// When a process asks for what was told while it did not listen: never together with all others.
//
//   first subscription                     -> after a random pause of up to `first`
//   subscribed again behind a loss         -> after a random pause of up to longest_pause, doubled
//                                             with each look that a loss has cut off
//   a number is missing among what is told -> the same, and once in least_between_looks at most
//   a look has failed                      -> after first_retry, doubled up to longest_retry, each
//                                             time a random part between half of it and all
//
// The first number behind a subscription is not missed: the look that follows the subscription has
// what was told before. So a loss costs one look. Nobody looks without a subscription, for he will
// look once he has one.
//
// Pure: the time and the random part, from 0 to less than 1, are arguments.
#pragma once

#include <cstdint>
#include <optional>

#include <herdlock/types.hpp>

namespace herdlock::algo {

class look_schedule {
 public:
  static constexpr milliseconds longest_pause{5'000};
  static constexpr milliseconds least_between_looks{10'000};
  static constexpr milliseconds first_retry = longest_pause;
  static constexpr milliseconds longest_retry{60'000};

  enum class outcome { done, failed };

  /// `first`: the longest pause behind the first subscription. 0 where what is read is small: then
  /// a process that begins knows it at once. Else all those of a fleet that begins would look.
  explicit look_schedule(milliseconds first) noexcept : first_(first) {}

  /// When a look is to be sent; nothing: none is needed, or one is under way.
  std::optional<clock::time_point> due() const noexcept { return due_; }

  /// The subscription is up. Calls without a loss in between change nothing.
  void subscribed(clock::time_point now, double part) noexcept;
  /// The subscription has ended: what is told from now on is lost.
  void lost() noexcept;
  /// Something was told, with that number.
  void heard(std::uint64_t number, clock::time_point now, double part) noexcept;
  /// The look that was due is under way.
  void sent(clock::time_point now) noexcept;
  void answered(outcome how, clock::time_point now, double part) noexcept;

 private:
  milliseconds first_;
  bool listens_ = false;
  bool subscribed_before_ = false;
  bool under_way_ = false;
  std::optional<std::uint64_t> heard_;  // the last number since the subscription
  std::optional<clock::time_point> due_;
  clock::time_point quiet_until_{};
  milliseconds retry_ = first_retry;
};

}  // namespace herdlock::algo
