#include "cache/fleet/hot_counter.hpp"

#include <new>

#include "algo/key_hash.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

hot_counter::hot_counter(std::uint64_t seed, std::size_t most_shards)
    : seed_(seed), most_shards_(most_shards) {}

hot_counter::~hot_counter() {
  delete common_.load(std::memory_order_acquire);
  for (auto& one : own_) delete one.load(std::memory_order_acquire);
}

void hot_counter::prepare() {
  if (!there_or_made(common_)) throw std::bad_alloc();
}

algo::hot_key_id hot_counter::id_of(std::string_view key) const noexcept {
  return algo::hot_key_id::of(key, key_hash(key, seed_));
}

void hot_counter::used(std::string_view key, algo::hot_uses uses) noexcept {
  algo::hot_key_id const id = id_of(key);
  locked_shard* const mine = own();
  if (!mine) return;
  std::lock_guard hold(mine->lock);
  mine->shard.used(id, uses);
}

hot_counter::locked_shard* hot_counter::own() noexcept {
  std::size_t const thread = thread_number();
  if (thread == most_numbered_threads) return there_or_made(common_);
  auto& place = own_[thread & (most_shards_ - 1)];
  locked_shard* const mine = there_or_made(place);
  return mine ? mine : there_or_made(common_);
}

hot_counter::locked_shard* hot_counter::there_or_made(shard_place& at) noexcept {
  locked_shard* const there = at.load(std::memory_order_acquire);
  return there ? there : make(at);
}

[[gnu::noinline]] hot_counter::locked_shard* hot_counter::make(shard_place& at) noexcept {
  if (no_memory_.load(std::memory_order_relaxed)) return nullptr;
  auto* const made = new (std::nothrow) locked_shard;
  if (!made) no_memory_.store(true, std::memory_order_relaxed);
  locked_shard* other = nullptr;
  if (!made || at.compare_exchange_strong(other, made, std::memory_order_acq_rel)) return made;
  delete made;
  return other;
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
