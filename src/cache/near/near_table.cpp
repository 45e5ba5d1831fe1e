#include "cache/near/near_table.hpp"

#include <algorithm>
#include <new>

#include "algo/key_hash.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

// Needs no memory, so that nothing that drops can fail. To be declared before the lock.
class near_table::leaving {
 public:
  leaving() noexcept {}
  leaving(leaving const&) = delete;
  leaving& operator=(leaving const&) = delete;
  ~leaving() { release(); }

  bool full() const noexcept { return count_ == records_.size(); }
  void add(near_record_ptr record) noexcept { records_[count_++] = std::move(record); }

  // Not under the lock. A value's destructor may come back to the table, but not to this.
  void release() noexcept {
    while (count_ != 0) {
      near_record_ptr const one = std::move(records_[--count_]);
      one->release_handles();
    }
  }

 private:
  std::array<near_record_ptr, 64> records_;
  std::size_t count_ = 0;
};

near_table::near_table(near_table_options options)
    : options_(std::move(options)),
      slots_(options_.slot_of ? new slot_list[slot_lists] : nullptr) {}

near_table::~near_table() {
  trusted_.clear();  // so that a value's destructor inserts nothing behind this
  clear();
  for (auto& cache : caches_) delete cache.load(std::memory_order_acquire);
}

// The address differs from run to run and from table to table: seed enough.
near_table::hashed_key near_table::hashed(std::string_view key) const noexcept {
  return {key, key_hash(key, reinterpret_cast<std::uintptr_t>(this))};
}

near_record_ptr near_table::look_up(hashed_key const& which) const noexcept {
  near_record_ptr found;
  records_.cvisit(which, [&](near_record_ptr const& one) { found = one; });
  return found;
}

near_thread_cache* near_table::own_cache() noexcept {
  std::size_t const number = thread_number();
  if (number == most_numbered_threads) return nullptr;
  // Written by a thread of this number only.
  near_thread_cache* cache = caches_[number].load(std::memory_order_relaxed);
  if (!cache) {
    cache = new (std::nothrow) near_thread_cache(number, options_.uses);
    caches_[number].store(cache, std::memory_order_release);
  }
  return cache;
}

void near_table::count_hit(near_thread_cache* own) noexcept {
  if (own) return own->count_hit();
  other_hits_.fetch_add(1, std::memory_order_relaxed);
}

bool near_table::lets_through(near_record const& record, clock::time_point now,
                              near_look who) noexcept {
  if (!record.due(now) || who == near_look::any) return false;
  if (who == near_look::first) record.let_through(now);
  return true;
}

near_hit near_table::find(std::string_view key, clock::time_point now, near_look who) noexcept {
  hashed_key const which = hashed(key);
  near_thread_cache* const own = own_cache();
  near_handle found = own ? own->find(key, which.hash, now) : nullptr;
  if (!found) {
    near_record_ptr record = look_up(which);
    if (!record || !record->served(now)) return {};
    // So no thread ever gets a handle to it either.
    if (record->role() == near_role::support) return {};
    if (lets_through(*record, now, who)) return {};
    record->visit();
    if (own) own->offer(record, which.hash);
    if (options_.uses) options_.uses->used(key, {1, 0});
    found = std::move(record);
  } else if (lets_through(*found, now, who)) {
    return {};
  }
  count_hit(own);
  void const* const value = found->value();
  if (!value) return {near_hit::found::negative};
  return {near_hit::found::value, std::shared_ptr<void const>(std::move(found), value)};
}

bool near_table::insert(std::string_view key, algo::near_entry const& how, near_value what,
                        clock::time_point now) {
  hashed_key const which = hashed(key);
  std::size_t const bytes = entry_bytes + key.size() + what.bytes +
                            what.supports.size() * sizeof(near_supports::value_type);
  std::uint16_t const slot = options_.slot_of ? options_.slot_of(key) : std::uint16_t{0};
  near_record_ptr record;
  while (true) {
    leaving out;
    std::lock_guard hold(changes_);
    if (near_record_ptr const old = look_up(which)) remove_gone(*old, now, out);
    auto const trusted = trusted_.find(how.generation);
    if (trusted == trusted_.end() || how.expires <= now || options_.entries == 0 ||
        what.bytes > std::min(options_.value_bytes, options_.bytes) || bytes > options_.bytes) {
      ++counts_.refused;
      return false;
    }
    if (!record) {
      record = std::make_shared<near_record>(near_content{
          std::string(key), which.hash, std::move(what.value), bytes, slot, how.expires, how.due,
          trusted->second, std::move(what.supports), what.role, what.fingerprint});
    }
    if (!make_room(bytes, now, out)) continue;
    add(record);
    return true;
  }
}

// Returns false if there is more to do than `out` can take.
bool near_table::make_room(std::size_t bytes, clock::time_point now, leaving& out) noexcept {
  while (order_.size() >= options_.entries || counts_.bytes > options_.bytes - bytes) {
    if (out.full()) return false;
    near_record& victim = order_.victim(now);
    bool const is_served = !victim.gone(now);
    if (is_served) ++counts_.evicted;
    if (is_served && options_.evicted && victim.role() == near_role::entry) {
      options_.evicted(victim.key());
    }
    remove_gone(victim, now, out);
  }
  return true;
}

void near_table::add(near_record_ptr const& record) {
  records_.insert(record);
  record->self = record;
  order_.add(*record);
  if (slots_) list_of(record->slot()).push_back(*record);
  counts_.bytes += record->bytes();
  ++counts_.inserts;
  if (left_.comes_back(record->hash(), record->fingerprint())) ++counts_.unchanged;
}

void near_table::remove(near_record& record, leaving& out) noexcept {
  record.close();
  records_.erase(hashed_key{record.key(), record.hash()});
  order_.remove(record);
  if (slots_) {
    slot_list& others = list_of(record.slot());
    others.erase(others.iterator_to(record));
  }
  counts_.bytes -= record.bytes();
  out.add(std::move(record.self));
}

void near_table::remove_gone(near_record& record, clock::time_point now, leaving& out) noexcept {
  if (record.has_fallen(now)) ++counts_.fallen;
  remove(record, out);
}

near_record_ptr near_table::find_record(std::string_view key,
                                        clock::time_point now) const noexcept {
  near_record_ptr record = look_up(hashed(key));
  return record && record->served(now) ? std::move(record) : nullptr;
}

void near_table::drop(std::string_view key, near_drop why) noexcept {
  leaving out;
  std::lock_guard hold(changes_);
  near_record_ptr const found = look_up(hashed(key));
  if (!found) return;
  // A record that it rested on was dropped before.
  bool const had_fallen = found->has_fallen(clock::time_point::min());
  if (had_fallen) {
    ++counts_.fallen;
  } else if (why == near_drop::changed) {
    ++counts_.dropped;
    left_.left(found->hash(), found->fingerprint());
  }
  remove(*found, out);
}

void near_table::clear() noexcept {
  bool all = false;
  while (!all) {
    leaving out;
    std::lock_guard hold(changes_);
    while (order_.size() != 0 && !out.full()) {
      ++counts_.dropped;
      remove(order_.oldest(), out);
    }
    all = order_.size() == 0;
  }
}

void near_table::drop_slot(std::uint16_t slot) noexcept {
  if (!slots_) return clear();
  bool all = false;
  while (!all) {
    leaving out;
    std::lock_guard hold(changes_);
    all = remove_some_of(slot, out);
  }
}

// Whether it was all.
bool near_table::remove_some_of(std::uint16_t slot, leaving& out) noexcept {
  slot_list& some = list_of(slot);
  for (auto at = some.begin(); at != some.end();) {
    near_record& one = *at++;
    if (one.slot() != slot) continue;
    if (out.full()) return false;
    ++counts_.dropped;
    remove(one, out);
  }
  return true;
}

void near_table::trust(algo::near_generation generation, clock::time_point until) {
  std::lock_guard hold(changes_);
  std::shared_ptr<near_trust>& one = trusted_[generation];
  if (!one) one = std::make_shared<near_trust>();
  one->until.store(until, std::memory_order_release);
}

void near_table::end(algo::near_generation generation) noexcept {
  std::lock_guard hold(changes_);
  auto const at = trusted_.find(generation);
  if (at == trusted_.end()) return;
  at->second->until.store(near_trust::ended, std::memory_order_release);
  trusted_.erase(at);
}

void near_table::sweep(clock::time_point now) noexcept {
  std::size_t looks = sweep_looks;
  while (looks != 0) {
    leaving out;
    std::lock_guard hold(changes_);
    while (!out.full()) {
      near_record* const one = order_.next_gone(now, looks);
      if (!one) return;
      remove_gone(*one, now, out);
    }
  }
}

std::vector<std::string> near_table::next_hits(clock::time_point now, std::size_t& looks) {
  std::vector<std::string> keys;
  std::size_t some = std::min(looks, sweep_looks);
  looks -= some;
  std::lock_guard const hold(changes_);
  if (order_.size() == 0) looks = 0;
  while (near_record const* const one = order_.next_used(now, some)) keys.emplace_back(one->key());
  return keys;
}

std::size_t near_table::judge_all() noexcept {
  std::lock_guard const hold(changes_);
  order_.begin_again();
  return order_.size();
}

std::vector<std::string> near_table::next_keys(std::size_t most) {
  std::vector<std::string> keys;
  std::lock_guard const hold(changes_);
  for (std::size_t some = std::min(most, order_.size()); some != 0; --some) {
    keys.emplace_back(order_.next()->key());
  }
  return keys;
}

near_table_counts near_table::counts() const {
  near_table_counts now;
  {
    std::lock_guard hold(changes_);
    now = counts_;
    now.entries = order_.size();
    auto earliest = clock::time_point::max();
    for (auto const& [generation, trust] : trusted_)
      earliest = std::min(earliest, trust->until.load(std::memory_order_relaxed));
    if (earliest != clock::time_point::max()) now.trusted_until = earliest;
  }
  now.hits = other_hits_.load(std::memory_order_relaxed);
  for (auto const& each : caches_) {
    if (auto const* const cache = each.load(std::memory_order_acquire)) now.hits += cache->hits();
  }
  return now;
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
