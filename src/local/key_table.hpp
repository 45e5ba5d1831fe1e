// The keys of one shard that are held at the moment, each with its queue: an intrusive hash table
// with a bounded pool of spare entries. Everything here is guarded by the shard's lock.
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <herdlock/keyed_mutex.hpp>
#include <memory>
#include <string_view>

#include "local/shard_lock.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

struct key_shard;

// One caller in the queue of a key: a thread, or a handler.
struct keyed_mutex_waiter : boost::intrusive::list_base_hook<> {
  // Called under the shard's lock. False when the caller is giving up at this very moment; its
  // canceller, who claimed it first, then answers it.
  virtual bool claim() noexcept = 0;
  // Called under the shard's lock, after a claim that failed in the queue: out of it by now.
  virtual void passed_over() noexcept = 0;
  // Called without the lock, once, after a successful claim.
  virtual void granted(keyed_mutex_entry& entry) noexcept = 0;

 protected:
  ~keyed_mutex_waiter() = default;
};

// Two cache lines; the second is the key's.
struct alignas(64) keyed_mutex_entry {
  key_shard* shard = nullptr;
  keyed_mutex_entry* next = nullptr;  // in the bucket, or among the spares
  std::uint64_t hash = 0;
  std::size_t key_bytes = 0;
  boost::intrusive::list<keyed_mutex_waiter> waiters;
  std::unique_ptr<char[]> long_key;
  std::array<char, keyed_mutex::inline_key_bytes> short_key;

  std::string_view key() const noexcept {
    return {long_key ? long_key.get() : short_key.data(), key_bytes};
  }
};

class key_table {
 public:
  key_table(keyed_mutex_entry& first_spare, key_shard& shard) noexcept;
  ~key_table();
  key_table(key_table const&) = delete;
  key_table& operator=(key_table const&) = delete;

  keyed_mutex_entry* find(std::string_view key, std::uint64_t hash) const noexcept;
  // The key must not be there. Throws std::bad_alloc, and then nothing has changed.
  keyed_mutex_entry& insert(std::string_view key, std::uint64_t hash);
  // Returns what is to be deleted once the lock is given back, if anything.
  [[nodiscard]] std::unique_ptr<keyed_mutex_entry> erase(keyed_mutex_entry& entry) noexcept;

  std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::size_t min_buckets = 8;

  keyed_mutex_entry*& bucket(std::uint64_t hash) const noexcept { return buckets_[hash & mask_]; }
  void grow();
  void shrink() noexcept;

  std::array<keyed_mutex_entry*, min_buckets> first_buckets_{};
  keyed_mutex_entry** buckets_ = first_buckets_.data();
  std::size_t mask_ = min_buckets - 1;
  std::size_t size_ = 0;
  keyed_mutex_entry* spare_ = nullptr;
  std::size_t spares_ = 0;
  keyed_mutex_entry* const home_;  // the entry that the shard came with; never deleted
  key_shard* const shard_;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
