#include "local/hot_counter.hpp"

#include <new>

#include "local/key_hash.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

hot_counter::hot_counter(std::uint64_t seed)
    : seed_(seed), common_(std::make_unique<locked_shard>()) {}

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
  locked_shard* mine = own_[thread].load(std::memory_order_relaxed);
  if (!mine) mine = make_own(thread);
  return mine ? *mine : *common_;
}

[[gnu::noinline]] hot_counter::locked_shard* hot_counter::make_own(std::size_t thread) noexcept {
  if (no_memory_.load(std::memory_order_relaxed)) return nullptr;
  auto* const made = new (std::nothrow) locked_shard;
  if (!made) no_memory_.store(true, std::memory_order_relaxed);
  own_[thread].store(made, std::memory_order_release);
  return made;
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
