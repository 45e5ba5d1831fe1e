// Answers that are given again for a short while. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// How many answers are kept at most, and how many bytes they have together.
struct answer_bounds {
  std::size_t most = 0;
  std::size_t bytes = 0;
};

/// Beyond its bounds the oldest answers go. The newest one is kept however large it is: its caller
/// has it anyway. O(log n) each, but for erase_if, which looks at all.
template <class T>
class answers_for_a_while {
 public:
  explicit answers_for_a_while(answer_bounds bounds) : bounds_(bounds) {}

  /// An answer that takes so many bytes, with its key.
  void add(std::string key, T answer, std::size_t bytes, clock::time_point until) {
    erase(key);
    while (!order_.empty() && !has_room(bytes)) drop_first();
    order_.emplace_back(until, key);
    by_key_.insert_or_assign(std::move(key), entry{until, bytes, std::move(answer)});
    bytes_ += bytes;
  }

  /// Null when there is none, or its time is up.
  T const* find(std::string_view key, clock::time_point now) const {
    auto const at = by_key_.find(key);
    return at == by_key_.end() || at->second.until <= now ? nullptr : &at->second.answer;
  }

  void erase(std::string_view key) {
    if (auto const at = by_key_.find(key); at != by_key_.end()) erase(at);
  }

  template <class Condition>
  void erase_if(Condition&& of_key) {
    for (auto at = by_key_.begin(); at != by_key_.end();) {
      at = of_key(std::string_view(at->first)) ? erase(at) : std::next(at);
    }
  }

  /// Drops what was added first and ends by now. Answers that end out of order go a little later.
  void drop_old(clock::time_point now) {
    while (!order_.empty() && order_.front().first <= now) drop_first();
  }

  bool empty() const noexcept { return order_.empty(); }
  std::size_t bytes() const noexcept { return bytes_; }
  /// When drop_old() has something to do next.
  clock::time_point next_end() const { return order_.front().first; }

 private:
  struct entry {
    clock::time_point until;
    std::size_t bytes;
    T answer;
  };
  using entries = std::map<std::string, entry, std::less<>>;

  bool has_room(std::size_t bytes) const {
    bool const fits = bytes_ <= bounds_.bytes && bytes <= bounds_.bytes - bytes_;
    return fits && order_.size() < bounds_.most;
  }

  typename entries::iterator erase(typename entries::iterator at) {
    bytes_ -= at->second.bytes;
    return by_key_.erase(at);
  }

  void drop_first() {
    auto const at = by_key_.find(order_.front().second);
    // Not the one that was added later under the same key.
    if (at != by_key_.end() && at->second.until == order_.front().first) erase(at);
    order_.pop_front();
  }

  answer_bounds bounds_;
  std::size_t bytes_ = 0;
  entries by_key_;
  // An erased answer stays in here until its time is up, or its turn to go has come.
  std::deque<std::pair<clock::time_point, std::string>> order_;
};

}  // namespace herdlock::algo
