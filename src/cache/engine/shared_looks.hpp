// The reads of a cache that have not been sent yet: callers of one key share one. So many are under
// way at once, and the others wait here: a store has a bound of its own, beyond which it refuses.
// Why: docs/decisions/cache.md#reads-are-shared-until-they-are-sent
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <herdlock/detail/cache_core.hpp>
#include <herdlock/types.hpp>

#include "algo/key_records.hpp"

namespace herdlock::runtime {

class shared_looks {
 public:
  /// Each may ask for the records of limits::max_tags tags besides, and a store takes 65,536.
  static constexpr std::size_t most_under_way = 65'536 / (1 + limits::max_tags);

  /// Callers who share one read. The first is apart so that one caller alone costs no vector.
  struct group {
    detail::caller_ptr head;
    std::vector<detail::caller_ptr> rest;

    template <class Visit>
    void for_each(Visit&& visit) const {
      visit(head);
      for (auto const& caller : rest) visit(caller);
    }
  };

  /// `records` outlives this.
  explicit shared_looks(algo::key_records& records) : records_(records) {}

  void add(detail::caller_ptr caller) {
    if (next_ < groups_.size()) {
      // Marks are made with the second caller.
      if (!std::exchange(are_marked_, true)) mark(next_);
      auto const* const known = records_.find(caller->key.str());
      if (known && known->look != 0) {
        return groups_[known->look - first_].rest.push_back(std::move(caller));
      }
    }
    groups_.push_back({std::move(caller), {}});
    if (are_marked_) mark(groups_.size() - 1);
  }

  /// ended() is to be called for each read that is sent. O(1) for each, amortized.
  template <class Send>
  void send_some(Send&& send) {
    while (next_ < groups_.size() && under_way_ < most_under_way) {
      auto one = std::move(groups_[next_]);
      if (are_marked_) unmark(one);
      if (++next_ == groups_.size()) {
        groups_.clear();
        first_ += next_;
        next_ = 0;
        are_marked_ = false;
      }
      ++under_way_;
      send(std::move(one));
    }
    drop_sent();
  }
  /// A read has ended. Returns true if another waits for its room.
  bool ended() {
    --under_way_;
    return next_ < groups_.size();
  }

 private:
  // Without room for a record callers of the key share no read.
  void mark(std::size_t index) {
    auto const& key = groups_[index].head->key.str();
    algo::key_place at(records_, key);
    if (at.make(key)) at->look = first_ + index;
  }
  void unmark(group const& one) {
    algo::key_place const at(records_, one.head->key.str());
    if (at) at->look = 0;
  }

  // If some wait all the time, the list does not grow for ever.
  void drop_sent() {
    if (next_ < most_under_way || 2 * next_ < groups_.size()) return;
    groups_.erase(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(next_));
    first_ += next_;
    next_ = 0;
  }

  std::vector<group> groups_;  // from next_ on
  std::size_t next_ = 0;
  std::size_t under_way_ = 0;
  std::uint64_t first_ = 1;  // the number of the first group
  bool are_marked_ = false;  // those that wait, in the records of their keys
  algo::key_records& records_;
};

}  // namespace herdlock::runtime
