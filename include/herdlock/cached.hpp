// The result of a look into a cache.
#pragma once

#include <optional>
#include <utility>

#include <herdlock/value.hpp>

namespace herdlock {
inline namespace v0 {

/// The result of a look without a loader: a value, a negative entry, or nothing.
template <class T>
class cached {
 public:
  cached() = default;  ///< a miss
  explicit cached(absent) : negative_(true) {}
  explicit cached(T value) : value_(std::move(value)) {}

  bool is_miss() const noexcept { return !value_ && !negative_; }
  /// "We asked, and there is no such thing."
  bool is_negative() const noexcept { return negative_; }
  explicit operator bool() const noexcept { return value_.has_value(); }

  /// REQUIRES: a value is there.
  T const& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T const* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  bool negative_ = false;
};

}  // namespace v0
}  // namespace herdlock
