#include "cache/near/near_thread_cache.hpp"

#include <new>
#include <utility>

namespace herdlock {
inline namespace v0 {
namespace detail {

near_handle near_thread_cache::find(std::string_view key, std::uint64_t hash,
                                    clock::time_point now) noexcept {
  for (line& one : set_of(hash)) {
    if (one.hash != hash) continue;
    near_handle found = one.handle.lock();
    if (!found || !found->served(now) || found->key() != key) return nullptr;
    if (one.score < most_score) ++one.score;
    if (++one.untold == told_at_once) tell(one, key);
    found->visit();
    return found;
  }
  return nullptr;
}

void near_thread_cache::tell(line& of, std::string_view key) noexcept {
  std::uint32_t const hits = std::exchange(of.untold, 0);
  if (uses_ && hits != 0) uses_->used(key, {hits, 0});
}

// A line of this key, whose record is not served any more, or else the one with the lowest score,
// which lines without a record have.
near_thread_cache::line& near_thread_cache::weakest(set& among, std::uint64_t hash) noexcept {
  line* lowest = &among.front();
  for (line& one : among) {
    if (one.hash == hash || one.handle.expired()) one.score = 0;
    if (one.hash == hash) return one;
    if (one.score < lowest->score) lowest = &one;
  }
  return *lowest;
}

void near_thread_cache::offer(near_record_ptr const& record, std::uint64_t hash) noexcept {
  near_handle taken;  // destroyed last: the value may go with it, and call us again
  near_handle last;
  near_handle made;
  line& one = weakest(set_of(hash), hash);
  if (one.score > 1) {
    --one.score;
    return;
  }
  last = one.handle.lock();
  if (last && !last->take_handle(thread_, taken)) return;
  if (last) tell(one, last->key());
  if (one.hash != hash) one.untold = 0;
  try {
    made = near_record::handle(record, thread_);
  } catch (std::bad_alloc const&) {
  }
  one.handle = made;
  one.hash = hash;
  one.score = made ? first_score : 0;
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
