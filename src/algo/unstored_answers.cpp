#include "algo/unstored_answers.hpp"

#include <algorithm>

namespace herdlock::algo {

void unstored_answers::add(std::string_view key, unstored_kind kind, lent answer,
                           clock::time_point began, clock::time_point now) {
  if (began <= fenced_ || answer.time <= milliseconds{0}) return;
  table_.tell_time(now);
  key_place at(table_, key);
  if (!at.make(key)) return;
  at->answer = std::make_unique<unstored_answer>();
  auto& made = *at->answer;
  made.record = &*at;
  made.what = std::move(answer.what);
  made.kind = kind;
  made.bytes = answer.bytes;
  made.until = now + answer.time;
  orders_[kind == unstored_kind::unstorable].push_back(made);
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
  erase_if([](std::string_view) { return true; });
}

void unstored_answers::advance(clock::time_point now) {
  table_.tell_time(now);
  for (auto& order : orders_) {
    while (!order.empty() && order.front().until <= now) drop(order.front());
  }
}

clock::time_point unstored_answers::due() const noexcept {
  auto next = clock::time_point::max();
  for (auto const& order : orders_) {
    if (!order.empty()) next = std::min(next, order.front().until);
  }
  return next;
}

void unstored_answers::drop(unstored_answer& one) {
  auto& record = *one.record;
  record.answer.reset();
  table_.settle(record);
}

}  // namespace herdlock::algo
