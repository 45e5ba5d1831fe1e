// The results of looks into a cache.
#pragma once

#include <optional>
#include <utility>

#include <herdlock/types.hpp>
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

/// The times of an entry on the clock of this process, as far as they are known. Entries of a plain
/// cache have none of their own.
struct looked_times {
  /// The ttl of the entry is over, or expire() or expire_tag() has ended it: it is an answer while
  /// it is loaded anew.
  bool is_stale = false;
  std::optional<clock::time_point> made = std::nullopt;  ///< loaded, or put
  /// The end of its ttl. Nothing for an entry that was made stale before.
  std::optional<clock::time_point> expires = std::nullopt;
  std::optional<clock::time_point> ends = std::nullopt;  ///< no answer any more, not even as stale
};

/// An entry, fresh or stale, as cache::look() finds it in the store.
template <class T>
struct looked : looked_times {
  /// Nothing is a negative entry: "we asked, and there is no such thing".
  std::optional<T> value = std::nullopt;
};

}  // namespace v0
}  // namespace herdlock
