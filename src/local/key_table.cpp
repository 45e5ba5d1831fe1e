#include "local/key_table.hpp"

#include <cstring>
#include <utility>

namespace herdlock {
inline namespace v0 {
namespace detail {

key_table::key_table(keyed_mutex_entry& first_spare, key_shard& shard) noexcept
    : spare_(&first_spare), spares_(1), home_(&first_spare), shard_(&shard) {
  first_spare.shard = shard_;
}

key_table::~key_table() {
  while (spare_) {
    keyed_mutex_entry* entry = std::exchange(spare_, spare_->next);
    if (entry != home_) delete entry;
  }
  if (buckets_ != first_buckets_.data()) delete[] buckets_;
}

keyed_mutex_entry* key_table::find(std::string_view key, std::uint64_t hash) const noexcept {
  keyed_mutex_entry* entry = bucket(hash);
  while (entry && (entry->hash != hash || entry->key() != key)) entry = entry->next;
  return entry;
}

keyed_mutex_entry& key_table::insert(std::string_view key, std::uint64_t hash) {
  if (size_ > mask_) grow();
  std::unique_ptr<char[]> copy;
  if (key.size() > keyed_mutex::inline_key_bytes) copy.reset(new char[key.size()]);
  if (!spare_) {
    spare_ = new keyed_mutex_entry;
    spare_->shard = shard_;
    ++spares_;
  }
  keyed_mutex_entry& entry = *std::exchange(spare_, spare_->next);
  --spares_;
  entry.hash = hash;
  entry.key_bytes = key.size();
  entry.long_key = std::move(copy);
  char* to = entry.long_key ? entry.long_key.get() : entry.short_key.data();
  if (!key.empty()) std::memcpy(to, key.data(), key.size());
  keyed_mutex_entry*& head = bucket(hash);
  entry.next = head;
  head = &entry;
  ++size_;
  return entry;
}

std::unique_ptr<keyed_mutex_entry> key_table::erase(keyed_mutex_entry& entry) noexcept {
  keyed_mutex_entry** link = &bucket(entry.hash);
  while (*link != &entry) link = &(*link)->next;
  *link = entry.next;
  if (--size_ == 0 && mask_ >= min_buckets) shrink();
  // The home entry is always kept: it is what makes the first lock of a shard free of allocation.
  if (&entry != home_ && spares_ + 1 >= keyed_mutex::spare_entries_per_shard) {
    return std::unique_ptr<keyed_mutex_entry>(&entry);
  }
  entry.long_key.reset();
  entry.next = std::exchange(spare_, &entry);
  ++spares_;
  return nullptr;
}

void key_table::grow() {
  std::size_t const old_count = mask_ + 1;
  keyed_mutex_entry** old = buckets_;
  buckets_ = new keyed_mutex_entry* [2 * old_count] {};
  mask_ = 2 * old_count - 1;
  for (std::size_t i = 0; i < old_count; ++i) {
    while (keyed_mutex_entry* entry = old[i]) {
      old[i] = entry->next;
      entry->next = std::exchange(bucket(entry->hash), entry);
    }
  }
  if (old != first_buckets_.data()) delete[] old;
}

// Only when empty: growing again is then paid for by as many insertions.
void key_table::shrink() noexcept {
  delete[] buckets_;
  buckets_ = first_buckets_.data();
  mask_ = min_buckets - 1;
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
