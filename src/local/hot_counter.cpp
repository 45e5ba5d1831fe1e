#include "local/hot_counter.hpp"

#include <new>

#include "algo/key_hash.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

hot_counter::hot_counter(std::uint64_t seed, std::size_t most_shards)
    : seed_(seed), most_shards_(most_shards), common_(std::make_unique<locked_shard>()) {}

hot_counter::~hot_counter() {
  for (auto& one : own_) delete one.load(std::memory_order_acquire);
}

algo::hot_key_id hot_counter::id_of(std::string_view key) const noexcept {
  return algo::hot_key_id::of(key, key_hash(key, seed_));
}

void hot_counter::used(std::string_view key, algo::hot_uses uses) noexcept {
  algo::hot_key_id const id = id_of(key);
  locked_shard& mine = own();
  std::lock_guard hold(mine.lock);
  mine.shard.used(id, uses);
}

hot_counter::locked_shard& hot_counter::own() noexcept {
  std::size_t const thread = thread_number();
  if (thread == most_numbered_threads) return *common_;
  std::size_t const which = thread & (most_shards_ - 1);
  locked_shard* mine = own_[which].load(std::memory_order_acquire);
  if (!mine) mine = make(which);
  return mine ? *mine : *common_;
}

[[gnu::noinline]] hot_counter::locked_shard* hot_counter::make(std::size_t which) noexcept {
  if (no_memory_.load(std::memory_order_relaxed)) return nullptr;
  auto* const made = new (std::nothrow) locked_shard;
  if (!made) no_memory_.store(true, std::memory_order_relaxed);
  locked_shard* other = nullptr;
  if (!made || own_[which].compare_exchange_strong(other, made, std::memory_order_acq_rel)) {
    return made;
  }
  delete made;
  return other;
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
