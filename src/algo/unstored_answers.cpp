#include "algo/unstored_answers.hpp"

namespace herdlock::algo {

void unstored_answers::add(std::string_view key, unstored_kind kind, lent answer,
                           clock::time_point began, clock::time_point now) {
  if (began <= fenced_ || answer.time <= milliseconds{0}) return;
  table_.tell_time(now);
  erase(key);
  while (!order_.empty() &&
         (sums_.count >= most_answers || sums_.bytes + answer.bytes > most_bytes_)) {
    forget(order_.front());
  }
  key_place at(table_, key);
  if (!at.make(key)) return;
  at->answer = std::make_unique<unstored_answer>(sums_, answer.bytes);
  auto& made = *at->answer;
  made.record = &*at;
  made.what = std::move(answer.what);
  made.kind = kind;
  made.until = now + answer.time;
  order_.push_back(made);
}

std::shared_ptr<void const> unstored_answers::find(std::string_view key, load_guard guard,
                                                   clock::time_point now) const {
  auto const* const record = table_.find(key);
  if (!record || !record->answer || record->answer->until <= now) return nullptr;
  bool const is_answer =
      guard == load_guard::unguarded || record->answer->kind != unstored_kind::unguarded;
  return is_answer ? record->answer->what : nullptr;
}

void unstored_answers::erase(std::string_view key) {
  key_place const at(table_, key);
  if (at) at->answer.reset();
}

void unstored_answers::fence(clock::time_point now) {
  fenced_ = now;
  erase_if([](unstored_answer const&) { return true; });
}

void unstored_answers::advance(clock::time_point now) {
  table_.tell_time(now);
  erase_if([now](unstored_answer const& one) { return one.until <= now; });
}

void unstored_answers::forget(unstored_answer& one) {
  auto& record = *one.record;
  record.answer.reset();
  table_.settle(record);
}

}  // namespace herdlock::algo
