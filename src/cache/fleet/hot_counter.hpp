// Counts the uses of keys, each thread in a shard of its own, so that threads write to no common
// memory; beyond `most_shards` threads share them. A tick looks at the shards one after the other.
//
// Bounded: so many shards, and one for threads without a number. A thread that ends leaves its
// shard to the next one. A shard takes some 86 KB, and the texts of its 256 keys, cut at 256 bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "algo/hot_shard.hpp"
#include "local/shard_lock.hpp"
#include "local/thread_number.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

/// All functions may be called by any thread at any time.
class hot_counter {
 public:
  /// `seed`: nobody outside may know it, or they make keys that are counted together.
  /// `most_shards`: a power of two, up to most_numbered_threads. It takes no memory before the
  /// first use, or prepare().
  explicit hot_counter(std::uint64_t seed, std::size_t most_shards = most_numbered_threads);
  ~hot_counter();
  hot_counter(hot_counter const&) = delete;
  hot_counter& operator=(hot_counter const&) = delete;

  /// The common shard is there from now on: so no use is lost where memory ends. Throws
  /// std::bad_alloc. Before any use.
  void prepare();

  algo::hot_key_id id_of(std::string_view key) const noexcept;

  /// Waits for nobody but a tick, or another thread, that is just at this shard. The first use
  /// allocates the shard; without memory it counts in the common one, and a later use after a tick
  /// tries again. If there is none either, the use is lost.
  void used(std::string_view key, algo::hot_uses uses) noexcept;

  /// Calls `look(algo::hot_shard&)` for each shard, under its lock, and `behind()` after each.
  template <class Look, class Behind>
  void each_shard(Look look, Behind behind) const {
    auto const at = [&](locked_shard& one) {
      {
        std::lock_guard hold(one.lock);
        look(one.shard);
      }
      behind();
    };
    if (locked_shard* const common = common_.load(std::memory_order_acquire)) at(*common);
    for (auto const& own : own_) {
      if (locked_shard* const one = own.load(std::memory_order_acquire)) at(*one);
    }
  }

  /// There may be memory again.
  void try_memory_again() noexcept { no_memory_.store(false, std::memory_order_relaxed); }

 private:
  struct alignas(64) locked_shard {
    shard_lock lock;
    algo::hot_shard shard;
  };

  using shard_place = std::atomic<locked_shard*>;

  locked_shard* own() noexcept;
  locked_shard* make(shard_place& at) noexcept;
  locked_shard* there_or_made(shard_place& at) noexcept;

  std::uint64_t const seed_;
  std::size_t const most_shards_;
  shard_place common_{nullptr};
  // The shards by the last bits of the thread's number.
  std::array<shard_place, most_numbered_threads> own_{};
  alignas(64) std::atomic<bool> no_memory_{false};
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
