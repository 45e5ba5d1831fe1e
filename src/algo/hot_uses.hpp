// The units of counting: uses, which are reads and writes apart, and the bounds of a count.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <string_view>

#include <herdlock/types.hpp>

namespace herdlock::algo {

// Both sums stop at the greatest number.
inline std::uint64_t add_up(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

inline clock::duration add_up(clock::duration a, clock::duration b) noexcept {
  return a > clock::duration::max() - b ? clock::duration::max() : a + b;
}

struct hot_uses {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  std::uint64_t sum() const noexcept { return add_up(reads, writes); }
  hot_uses& operator+=(hot_uses const& more) noexcept {
    reads = add_up(reads, more.reads);
    writes = add_up(writes, more.writes);
    return *this;
  }
  friend hot_uses operator+(hot_uses one, hot_uses const& more) noexcept { return one += more; }
  friend bool operator==(hot_uses const&, hot_uses const&) = default;
};

/// A count is at least `low` and at most `high`; the greatest number as `high` bounds nothing.
struct hot_bounds {
  hot_uses low{};
  hot_uses high{};

  hot_bounds& operator+=(hot_bounds const& more) noexcept {
    low += more.low;
    high += more.high;
    return *this;
  }
};

/// A key as it is known: two keys are one if all three are the same.
struct hot_key_id {
  static constexpr std::size_t kept_bytes = 256;

  std::uint64_t hash = 0;  ///< of the whole key, seeded
  std::uint32_t size = 0;  ///< of the whole key
  std::string_view text;   ///< its first kept_bytes

  static hot_key_id of(std::string_view key, std::uint64_t hash) noexcept {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    return {hash, static_cast<std::uint32_t>(std::min(key.size(), most)),
            key.substr(0, kept_bytes)};
  }
  friend auto operator<=>(hot_key_id const&, hot_key_id const&) = default;
};

/// Whether the half of the window that counts now ends.
enum class hot_half { goes_on, ends };

}  // namespace herdlock::algo
