// The cache of one thread in front of the near table: the keys that it hits most, each with a
// handle of its own, found without the table.
//
// Sets of four lines; a key belongs to one set. A line counts its hits up to a bound, and each hit
// of a key of the same set that is not here takes one away; at nothing the line is that key's. So
// the hot ones stay, a scan of cold keys rarely takes a line, and what was hot makes room.
//
// The counter of uses is told of hits in sixteens, so that a hit does not pay for it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "cache/fleet/hot_counter.hpp"
#include "cache/near/near_record.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

/// The cache of one table and one thread, who alone calls it; hits() may be called by others.
class alignas(64) near_thread_cache {
 public:
  static constexpr std::size_t set_bits = 5;
  static constexpr std::size_t lines_per_set = 4;
  static constexpr std::size_t lines = lines_per_set << set_bits;
  static constexpr std::uint32_t first_score = 32;
  static constexpr std::uint32_t most_score = 1024;
  /// Hits of a line that are told at a time. A key that loses its line may keep what is left.
  static constexpr std::uint32_t told_at_once = 16;

  /// `thread`: the number under which records keep its handles. `uses` outlives it; null: nobody is
  /// told.
  near_thread_cache(std::size_t thread, hot_counter* uses) noexcept
      : thread_(thread), uses_(uses) {}

  /// Null: not here, or not to be served now. No lock, no allocation.
  near_handle find(std::string_view key, std::uint64_t hash, clock::time_point now) noexcept;

  /// The key of the record was hit, and is not here. It may get a line, which takes up to two
  /// allocations; without memory, and where another thread is at work, it gets none.
  void offer(near_record_ptr const& record, std::uint64_t hash) noexcept;

  void count_hit() noexcept {
    hits_.store(hits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::uint64_t hits() const noexcept { return hits_.load(std::memory_order_relaxed); }

 private:
  struct line {
    std::uint64_t hash = 0;
    std::uint32_t score = 0;
    std::uint32_t untold = 0;  // hits
    std::weak_ptr<near_record const> handle;
  };
  using set = std::array<line, lines_per_set>;

  set& set_of(std::uint64_t hash) noexcept { return sets_[hash >> (64 - set_bits)]; }
  void tell(line& of, std::string_view key) noexcept;
  static line& weakest(set& among, std::uint64_t hash) noexcept;

  std::size_t const thread_;
  hot_counter* const uses_;
  std::atomic<std::uint64_t> hits_{0};
  std::array<set, std::size_t(1) << set_bits> sets_;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
