// The keys that one thread used most in the window, and how often.
//
// 256 keys hold a counter. Each of their uses is counted, so that they are known exactly from the
// time on when they got it, and within bounds before. All other keys share a sketch, which never
// says too little: a key that it says clearly more of than the least counter has gets that one.
// A key that loses its counter gives its count to the sketch, so no use is ever lost.
//
// Bounded in memory, whatever comes: its own size, and the texts of 256 keys. Pure; one caller at a
// time.
// Why: docs/decisions/hot-keys.md#counters-that-hold-and-a-sketch
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "algo/hot_sketch.hpp"
#include "algo/hot_uses.hpp"

namespace herdlock::algo {

/// A key that was used since the last look.
struct hot_report {
  std::uint64_t hash = 0;
  std::uint32_t size = 0;
  std::array<char, hot_key_id::kept_bytes> text;
  hot_uses uses{};

  hot_key_id id() const noexcept {
    return {hash, size, {text.data(), std::min<std::size_t>(size, text.size())}};
  }
};

class hot_shard {
 public:
  static constexpr std::size_t counters = 256;
  using reports = std::span<hot_report, counters>;

  hot_shard() noexcept;

  /// No allocation but for the text of a key that gets a counter; without memory it gets none, and
  /// the sketch counts it.
  void used(hot_key_id const& key, hot_uses uses) noexcept;

  /// Reports what each counter has counted since the last call; returns how many have. If the half
  /// ends, it becomes the half before, and a key that was not used in it loses its counter.
  std::size_t take(reports out, hot_half half) noexcept;

  /// The uses of the key in the window, with those that were not yet taken.
  hot_bounds bounds_of(hot_key_id const& key) const noexcept;

  /// All uses since ever, of all keys.
  hot_uses total() const noexcept { return total_; }
  /// How often a key took the counter of another.
  std::uint64_t changes() const noexcept { return changes_; }

 private:
  using index = std::uint16_t;
  static constexpr index none = 0xffff;
  static constexpr std::size_t bucket_bits = 10;

  struct counter {
    std::uint64_t hash = 0;
    hot_uses fresh{};                // not yet taken
    std::unique_ptr<char[]> text{};  // null: nobody holds this counter
    std::uint32_t size = 0;
    std::uint16_t capacity = 0;  // of the text
    index next = none;           // of the same bucket, or without a holder
    hot_uses live{};
    hot_uses previous{};
    hot_sketch::estimate before{};  // what the sketch said when the key got it

    hot_key_id id() const noexcept;
    hot_uses counted() const noexcept { return fresh + live + previous; }
    std::uint64_t most() const noexcept { return add_up(counted().sum(), before.sum()); }
  };

  index& bucket_of(std::uint64_t hash) noexcept { return buckets_[hash >> (64 - bucket_bits)]; }
  index find(hot_key_id const& key) const noexcept;
  bool admit(hot_key_id const& key, hot_sketch::estimate before, hot_uses uses) noexcept;
  index least() const noexcept;
  void give_back(counter& one) noexcept;
  void remove(index at) noexcept;
  void end_half(index at) noexcept;

  hot_sketch sketch_;
  std::array<counter, counters> counters_;
  std::array<index, std::size_t(1) << bucket_bits> buckets_;
  index free_ = 0;
  // A key with no more uses than this gets no counter. The counters only grow until the half ends,
  // so this may lag behind them: then a look at them all decides.
  std::uint64_t admit_above_ = 0;
  hot_uses total_{};
  std::uint64_t changes_ = 0;
};

}  // namespace herdlock::algo
