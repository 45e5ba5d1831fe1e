// Answers that are in no store, for those who ask again within a moment: of loads that the store
// does not have, because it failed or because the value cannot be stored. Without them each next
// caller would load anew: a key that is asked for a thousand times a second would be loaded as
// often. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include <herdlock/types.hpp>

#include "algo/key_records.hpp"
#include "algo/load_machine.hpp"

namespace herdlock::algo {

/// One answer for each key, the newest. O(1) each, but for erase_if and erase_all, which look at
/// all answers.
class unstored_answers {
 public:
  /// An answer, the bytes that it takes, and for how long it is given.
  struct lent {
    std::shared_ptr<void const> what;
    std::size_t bytes;
    milliseconds time;
  };

  /// `table` outlives this.
  explicit unstored_answers(key_records& table) : table_(table) {}

  /// The answer of a load that began then.
  void add(std::string_view key, unstored_kind kind, lent answer, clock::time_point began,
           clock::time_point now);
  /// The answer to a call for the key in place of a load of this kind; null when there is none.
  std::shared_ptr<void const> find(std::string_view key, load_guard guard,
                                   clock::time_point now) const;
  void erase(std::string_view key);
  template <class Condition>
  void erase_if(Condition&& of_key) {
    for (auto& order : orders_) {
      for (auto at = order.begin(); at != order.end();) {
        auto& one = *at++;
        if (of_key(one.record->key())) drop(one);
      }
    }
  }
  /// Loads that began before now answer nobody any more.
  void fence(clock::time_point now);

  /// Drops the answers whose time is over.
  void advance(clock::time_point now);
  /// When advance() is to be called; time_point::max(): never.
  clock::time_point due() const noexcept;

 private:
  void drop(unstored_answer& one);

  key_records& table_;
  clock::time_point fenced_ = clock::time_point::min();
  // Answers of one kind have about the same time, so these are in the order of their ends.
  std::array<hooks::list<unstored_answer, hooks::of_answer>, 2> orders_;
};

}  // namespace herdlock::algo
