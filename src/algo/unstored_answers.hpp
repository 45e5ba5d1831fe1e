// Answers that are in no store, for those who ask again within a moment: of loads that the store
// does not have, because it failed or because the value cannot be stored. Without them each next
// caller would load anew: a key that is asked for a thousand times a second would be loaded as
// often. Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <herdlock/types.hpp>

#include "algo/key_records.hpp"
#include "algo/load_machine.hpp"

namespace herdlock::algo {

/// One answer for each key, the newest; at most most_answers, and so many bytes of them: beyond
/// that the oldest go, but the newest is kept however large it is. O(1) each, but for those that
/// look at all answers: erase_if, fence, advance.
class unstored_answers {
 public:
  static constexpr std::size_t most_answers = 2048;

  /// An answer, the bytes that it takes, and for how long it is given.
  struct lent {
    std::shared_ptr<void const> what;
    std::size_t bytes;
    milliseconds time;
  };

  /// `table` outlives this.
  unstored_answers(key_records& table, std::size_t most_bytes)
      : table_(table), most_bytes_(most_bytes) {}
  unstored_answers(unstored_answers const&) = delete;
  unstored_answers& operator=(unstored_answers const&) = delete;
  ~unstored_answers() {
    while (!order_.empty()) order_.front().record->answer.reset();
  }

  /// The answer of a load that began then.
  void add(std::string_view key, unstored_kind kind, lent answer, clock::time_point began,
           clock::time_point now);
  /// The answer to a call for the key in place of a load of this kind; null when there is none.
  std::shared_ptr<void const> find(std::string_view key, load_guard guard,
                                   clock::time_point now) const;
  void erase(std::string_view key);
  template <class Condition>
  void erase_if(Condition&& goes) {
    order gone;
    for (auto at = order_.begin(); at != order_.end();) {
      auto& one = *at++;
      if (!goes(std::as_const(one))) continue;
      order_.erase(order_.iterator_to(one));
      gone.push_back(one);
    }
    // The end of one may be that of others.
    while (!gone.empty()) forget(gone.front());
  }
  /// Loads that began before now answer nobody any more.
  void fence(clock::time_point now);

  /// Drops the answers whose time is over.
  void advance(clock::time_point now);
  bool empty() const noexcept { return order_.empty(); }
  std::size_t bytes() const noexcept { return sums_.bytes; }

 private:
  using order = hooks::list<unstored_answer, hooks::of_answer>;

  void forget(unstored_answer& one);

  key_records& table_;
  std::size_t const most_bytes_;
  unstored_sums sums_;
  clock::time_point fenced_ = clock::time_point::min();
  order order_;  // as they came
};

}  // namespace herdlock::algo
