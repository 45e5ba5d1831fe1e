#include "algo/key_records.hpp"

#include <iterator>

namespace herdlock::algo {

key_record* key_records::find(std::string_view key) noexcept {
  if (records_.empty()) return nullptr;
  auto const at = records_.find(key);
  return at == records_.end() ? nullptr : &at->second;
}

key_record* key_records::make(std::string_view key) {
  if (auto* const known = find(key)) return known;
  if (!make_room(key_record::bytes_around + key.size(), nullptr)) return nullptr;
  auto const made = records_.try_emplace(std::string(key)).first;
  made->second.key_ = made->first;
  return &made->second;
}

key_record* key_records::make_beside(std::string_view key) {
  if (find(key)) return find(key);
  look_at_some(nullptr);
  bool const has_room = bytes_ + key_record::bytes_around + key.size() <= most_bytes_;
  return has_room ? make(key) : nullptr;
}

void key_records::settle(key_record& changed) {
  bool const in_use = changed.in_use();
  if (!in_use && changed.spent(now_)) return forget(changed);
  auto const bytes = changed.bytes();
  bytes_ += bytes - changed.counted_;
  changed.counted_ = bytes;
  if (hand_ == &changed) hand_ = nullptr;
  hooks::hook<hooks::of_record>& place = changed;
  place.unlink();
  if (!in_use) idle_.push_back(changed);
  look_at_some(&changed);
  make_room(0, &changed);
}

// Returns false if there is no room.
bool key_records::make_room(std::size_t bytes, key_record const* but) {
  while (bytes_ + bytes > most_bytes_ && !idle_.empty() && &idle_.front() != but) {
    forget(idle_.front());
  }
  return bytes_ + bytes <= most_bytes_;
}

void key_records::look_at_some(key_record const* but) {
  for (int looks = 0; looks < 2 && !idle_.empty(); ++looks) {
    auto const at = hand_ ? order::s_iterator_to(*hand_) : idle_.begin();
    auto const next = std::next(at);
    hand_ = next == idle_.end() ? nullptr : &*next;
    if (&*at != but && at->spent(now_)) forget(*at);
  }
}

void key_records::forget(key_record& one) {
  if (hand_ == &one) hand_ = nullptr;
  bytes_ -= one.counted_;
  records_.erase(records_.find(one.key_));
}

}  // namespace herdlock::algo
