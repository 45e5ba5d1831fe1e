#include "algo/lasting_ledger.hpp"

namespace herdlock::algo {

std::optional<lasting_ledger::ticket> lasting_ledger::admit(std::string_view key,
                                                            std::size_t bytes) {
  if (closed_) return std::nullopt;
  auto const* const there = find(key);
  std::size_t const others = bytes_ - (there ? there->bytes : 0);
  if (bytes > bounds_.bytes || others > bounds_.bytes - bytes) return std::nullopt;
  if (!there && entries_ >= bounds_.entries) return std::nullopt;
  key_place at(table_, key);
  if (!at.make(key)) return std::nullopt;
  if (!at->lasting) {
    at->lasting = std::make_unique<lasting_entry>();
    ++entries_;
  }
  ticket const mine{++last_id_, bytes};
  at->lasting->bytes = bytes;
  at->lasting->under_way = mine.id;
  bytes_ = others + bytes;
  return mine;
}

void lasting_ledger::stored(std::string_view key, ticket const& mine) {
  auto* const there = find(key);
  if (!there) return;
  there->stored = mine.bytes;
  if (there->under_way == mine.id) there->under_way = 0;
}

void lasting_ledger::refused(std::string_view key, ticket const& mine) {
  key_place const at(table_, key);
  if (closed_ || !at || !at->lasting || at->lasting->under_way != mine.id) return;
  auto& there = *at->lasting;
  if (!there.stored) return erase(*at);
  bytes_ = bytes_ - there.bytes + *there.stored;
  there.bytes = *there.stored;
  there.under_way = 0;
}

void lasting_ledger::gone(std::string_view key) {
  key_place const at(table_, key);
  if (!closed_ && at && at->lasting) erase(*at);
}

void lasting_ledger::missed(std::string_view key) {
  key_place const at(table_, key);
  if (!closed_ && at && at->lasting && at->lasting->under_way == 0) erase(*at);
}

lasting_entry* lasting_ledger::find(std::string_view key) const noexcept {
  auto* const record = closed_ ? nullptr : table_.find(key);
  return record ? record->lasting.get() : nullptr;
}

void lasting_ledger::erase(key_record& record) {
  bytes_ -= record.lasting->bytes;
  --entries_;
  record.lasting.reset();
}

}  // namespace herdlock::algo
