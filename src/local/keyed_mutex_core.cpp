#include "local/keyed_mutex_core.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "algo/key_hash.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

keyed_mutex_core::keyed_mutex_core(keyed_mutex_options options) : options_(std::move(options)) {
  for (key_shard& shard : shards_) shard.max_waiters = options_.max_waiters_per_key;
}

keyed_mutex_core::~keyed_mutex_core() {
  for (key_shard& shard : shards_) {
    std::lock_guard hold(shard.lock);
    if (shard.keys.size() == 0) continue;
    std::fputs("herdlock::keyed_mutex destroyed while a key is held or awaited\n", stderr);
    std::abort();
  }
}

// The address differs from run to run and from mutex to mutex: seed enough.
std::uint64_t keyed_mutex_core::hash(std::string_view key) const noexcept {
  return key_hash(key, reinterpret_cast<std::uintptr_t>(this));
}

keyed_mutex_entry* keyed_mutex_core::try_acquire(std::string_view key) {
  std::uint64_t const code = hash(key);
  key_shard& shard = shard_of(code);
  std::lock_guard hold(shard.lock);
  return shard.keys.find(key, code) ? nullptr : &shard.keys.insert(key, code);
}

enqueue_reply keyed_mutex_core::enqueue(std::string_view key, keyed_mutex_waiter& waiter) {
  std::uint64_t const code = hash(key);
  key_shard& shard = shard_of(code);
  std::lock_guard hold(shard.lock);
  keyed_mutex_entry* entry = shard.keys.find(key, code);
  if (entry && entry->waiters.size() >= shard.max_waiters) {
    // Claimed here, so that a cancellation at this moment does not answer as well.
    return {waiter.claim() ? enqueue_outcome::refused : enqueue_outcome::gave_up};
  }
  if (entry) {
    entry->waiters.push_back(waiter);
    return {enqueue_outcome::queued};
  }
  entry = &shard.keys.insert(key, code);
  if (waiter.claim()) return {enqueue_outcome::acquired, entry};
  // The home entry or a spare was taken, and goes back to where it came from.
  auto surplus = shard.keys.erase(*entry);
  return {enqueue_outcome::gave_up};
}

bool keyed_mutex_core::remove(std::string_view key, keyed_mutex_waiter& waiter) noexcept {
  std::uint64_t const code = hash(key);
  key_shard& shard = shard_of(code);
  std::lock_guard hold(shard.lock);
  if (!waiter.is_linked()) return false;
  auto& others = shard.keys.find(key, code)->waiters;
  others.erase(others.iterator_to(waiter));
  return true;
}

void keyed_mutex_core::release(keyed_mutex_entry& entry) noexcept {
  std::unique_ptr<keyed_mutex_entry> surplus;  // deleted after the lock is given back
  keyed_mutex_waiter* next = nullptr;
  {
    key_shard& shard = *entry.shard;
    std::lock_guard hold(shard.lock);
    while (!next && !entry.waiters.empty()) {
      keyed_mutex_waiter& head = entry.waiters.front();
      entry.waiters.pop_front();
      // 1. the canceller claims the waiter; 2. we get here before it takes the waiter out of the
      // queue. The key goes on to the next.
      if (head.claim()) {
        next = &head;
      } else {
        head.passed_over();
      }
    }
    if (!next) surplus = shard.keys.erase(entry);
  }
  if (next) next->granted(entry);
}

std::size_t keyed_mutex_core::waiting(std::string_view key) noexcept {
  std::uint64_t const code = hash(key);
  key_shard& shard = shard_of(code);
  std::lock_guard hold(shard.lock);
  keyed_mutex_entry* entry = shard.keys.find(key, code);
  return entry ? entry->waiters.size() : 0;
}

failure keyed_mutex_core::refusal(std::string_view key) const {
  return make_failure(errc::overloaded,
                      "keyed_mutex: " + std::to_string(options_.max_waiters_per_key) +
                          " callers already wait for key '" + std::string(key) +
                          "'; try later, or raise keyed_mutex_options::max_waiters_per_key");
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
