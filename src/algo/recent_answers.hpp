// Answers that are given again for a short while. Pure.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// At most `most` answers, the oldest goes first. O(log n) each.
template <class T>
class recent_answers {
 public:
  explicit recent_answers(std::size_t most) : most_(most) {}

  void add(std::string key, T answer, clock::time_point until) {
    while (order_.size() >= most_) drop_first();
    order_.emplace_back(until, key);
    by_key_.insert_or_assign(std::move(key), entry{until, std::move(answer)});
  }

  /// Null when there is none, or its time is up.
  T const* find(std::string_view key, clock::time_point now) const {
    auto const at = by_key_.find(key);
    return at == by_key_.end() || at->second.until <= now ? nullptr : &at->second.answer;
  }

  void erase(std::string_view key) {
    if (auto const at = by_key_.find(key); at != by_key_.end()) by_key_.erase(at);
  }

  template <class Condition>
  void erase_if(Condition&& of_key) {
    std::erase_if(by_key_, [&](auto const& one) { return of_key(std::string_view(one.first)); });
  }

  /// Drops what was added first and ends by now. Answers that end out of order go a little later.
  void drop_old(clock::time_point now) {
    while (!order_.empty() && order_.front().first <= now) drop_first();
  }

  bool empty() const noexcept { return order_.empty(); }
  /// When drop_old() has something to do next.
  clock::time_point next_end() const { return order_.front().first; }

 private:
  struct entry {
    clock::time_point until;
    T answer;
  };

  void drop_first() {
    auto const at = by_key_.find(order_.front().second);
    // Not the one that was added later under the same key.
    if (at != by_key_.end() && at->second.until == order_.front().first) by_key_.erase(at);
    order_.pop_front();
  }

  std::size_t most_;
  std::map<std::string, entry, std::less<>> by_key_;
  std::deque<std::pair<clock::time_point, std::string>> order_;
};

}  // namespace herdlock::algo
