#include "algo/hot_shard.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace herdlock::algo {
namespace {

// One use more is not enough. Keys that come once and never again have all the same estimate, which
// grows with them: if it were enough, they would take a counter from each other at each use. So a
// counter changes hands once while that estimate grows by an eighth.
std::uint64_t clearly_more_than(std::uint64_t uses) noexcept {
  return add_up(uses, add_up(uses / 8, 4));
}

// Looking at all counters in vain costs as much as some dozens of uses. The next look is when a key
// has some more uses.
std::uint64_t after_a_vain_look(std::uint64_t had) noexcept {
  return add_up(had, add_up(had / 32, 2));
}

std::size_t capacity_for(std::size_t bytes) noexcept {
  constexpr std::size_t unit = 8;
  return std::max(unit, (bytes + unit - 1) / unit * unit);
}

}  // namespace

hot_shard::hot_shard() noexcept {
  buckets_.fill(none);
  for (index i = 0; i + 1u < counters; ++i) counters_[i].next = static_cast<index>(i + 1);
}

hot_key_id hot_shard::counter::id() const noexcept {
  return {hash, size, {text.get(), std::min<std::size_t>(size, hot_key_id::kept_bytes)}};
}

hot_shard::index hot_shard::find(hot_key_id const& key) const noexcept {
  index at = buckets_[key.hash >> (64 - bucket_bits)];
  for (; at != none; at = counters_[at].next) {
    counter const& one = counters_[at];
    if (one.hash == key.hash && one.id() == key) break;
  }
  return at;
}

void hot_shard::used(hot_key_id const& key, hot_uses uses) noexcept {
  if (uses.sum() == 0) return;
  total_ += uses;
  if (index const at = find(key); at != none) {
    counters_[at].fresh += uses;
    return;
  }
  auto const before = sketch_.of(key.hash);
  bool const asks = add_up(before.sum(), uses.sum()) > admit_above_;
  if (asks && admit(key, before, uses)) return;
  sketch_.add(key.hash, uses.sum());
}

bool hot_shard::admit(hot_key_id const& key, hot_sketch::estimate before, hot_uses uses) noexcept {
  std::uint64_t const had = add_up(before.sum(), uses.sum());
  index at = free_;
  if (at == none) {
    at = least();
    std::uint64_t const needed = clearly_more_than(counters_[at].most());
    admit_above_ = needed;
    if (had <= needed) {
      admit_above_ = std::max(needed, after_a_vain_look(had));
      return false;
    }
  }
  counter& one = counters_[at];
  std::size_t const capacity = capacity_for(key.text.size());
  std::unique_ptr<char[]> text;
  if (capacity != one.capacity) {
    text.reset(new (std::nothrow) char[capacity]);
    if (!text) {
      admit_above_ = after_a_vain_look(had);
      return false;
    }
  }
  if (at == free_) {
    free_ = one.next;
  } else {
    give_back(one);
    remove(at);
    ++changes_;
  }
  if (text) one.text = std::move(text);
  std::copy(key.text.begin(), key.text.end(), one.text.get());
  one.hash = key.hash;
  one.size = key.size;
  one.capacity = static_cast<std::uint16_t>(capacity);
  one.fresh = uses;
  one.live = {};
  one.previous = {};
  one.before = before;
  one.next = std::exchange(bucket_of(key.hash), at);
  return true;
}

hot_shard::index hot_shard::least() const noexcept {
  auto const fewer = [](counter const& a, counter const& b) { return a.most() < b.most(); };
  auto const found = std::min_element(counters_.begin(), counters_.end(), fewer);
  return static_cast<index>(found - counters_.begin());
}

// The sketch still has the uses that it had of the key before.
void hot_shard::give_back(counter& one) noexcept {
  sketch_.add(one.hash, (one.fresh + one.live).sum());
  sketch_.add_to_previous(one.hash, one.previous.sum());
}

void hot_shard::remove(index at) noexcept {
  index* from = &bucket_of(counters_[at].hash);
  while (*from != at) from = &counters_[*from].next;
  *from = counters_[at].next;
}

std::size_t hot_shard::take(reports out, hot_half half) noexcept {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < counters; ++i) {
    counter& one = counters_[i];
    if (!one.text) continue;
    if (one.fresh.sum() > 0) {
      hot_report& report = out[taken++];
      hot_key_id const id = one.id();
      report.hash = id.hash;
      report.size = id.size;
      std::copy(id.text.begin(), id.text.end(), report.text.begin());
      report.uses = std::exchange(one.fresh, {});
      one.live += report.uses;
    }
    if (half == hot_half::ends) end_half(static_cast<index>(i));
  }
  if (half == hot_half::ends) sketch_.end_half();
  // Counters have become free, or have less now; or there is memory again.
  if (half == hot_half::ends || free_ != none) admit_above_ = 0;
  return taken;
}

void hot_shard::end_half(index at) noexcept {
  counter& one = counters_[at];
  one.previous = std::exchange(one.live, {});
  one.before = {0, one.before.live};
  if (one.previous.sum() > 0) return;
  remove(at);
  one.text.reset();
  one.capacity = 0;
  one.next = std::exchange(free_, at);
}

hot_bounds hot_shard::bounds_of(hot_key_id const& key) const noexcept {
  index const at = find(key);
  hot_uses const low = at == none ? hot_uses{} : counters_[at].counted();
  // The sketch does not tell reads from writes: it may have been all of one kind.
  std::uint64_t const more = at == none ? sketch_.of(key.hash).sum() : counters_[at].before.sum();
  return {low, low + hot_uses{more, more}};
}

}  // namespace herdlock::algo
