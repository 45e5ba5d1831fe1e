// The shards of a keyed_mutex, and who gets a key next.
//
// All that happens to one key happens under the lock of its shard. An entry exists while its key is
// held; unlock takes the first waiter out of the queue and leaves the entry in the table, so the
// key passes from holder to holder without being free in between.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "local/key_table.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

struct alignas(64) key_shard {
  key_shard() : keys(home, *this) {}

  shard_lock lock;
  std::size_t max_waiters = 0;
  keyed_mutex_entry home;  // before `keys`, which takes it as its first spare
  key_table keys;
};

enum class enqueue_outcome {
  acquired,  // the key was free; `entry` is held for the waiter, granted() is not called
  queued,    // granted() will be called, unless remove() takes the waiter out before
  refused,   // max_waiters_per_key
  gave_up,   // the waiter did not claim
};

struct enqueue_reply {
  enqueue_outcome outcome;
  keyed_mutex_entry* entry = nullptr;
};

class keyed_mutex_core {
 public:
  explicit keyed_mutex_core(keyed_mutex_options options);
  ~keyed_mutex_core();

  // The entry of a free key, held from now on; null when it is held.
  keyed_mutex_entry* try_acquire(std::string_view key);
  enqueue_reply enqueue(std::string_view key, keyed_mutex_waiter& waiter);
  // Takes a waiter out of its queue. False when it is in none.
  bool remove(std::string_view key, keyed_mutex_waiter& waiter) noexcept;
  static void release(keyed_mutex_entry& entry) noexcept;
  std::size_t waiting(std::string_view key) noexcept;

  failure refusal(std::string_view key) const;
  static keyed_mutex::guard make_guard(keyed_mutex_entry& entry) noexcept {
    return keyed_mutex::guard(&entry);
  }
  keyed_mutex_options const& options() const noexcept { return options_; }

 private:
  static constexpr std::size_t shard_bits = 6;

  std::uint64_t hash(std::string_view key) const noexcept;
  // The upper bits; the lower ones choose the bucket.
  key_shard& shard_of(std::uint64_t hash) noexcept { return shards_[hash >> (64 - shard_bits)]; }

  keyed_mutex_options options_;
  std::array<key_shard, 1u << shard_bits> shards_;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
