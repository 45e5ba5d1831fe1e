// The reads of a cache that have not been sent yet: callers of one key share one. So many are under
// way at once, and the others wait here: a store has a bound of its own, beyond which it refuses.
// Why: docs/decisions/cache.md#reads-are-shared-until-they-are-sent
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <herdlock/detail/cache_core.hpp>
#include <herdlock/types.hpp>

#include "algo/tag_check.hpp"

namespace herdlock::runtime {

class shared_looks {
 public:
  /// Each may ask for the records of limits::max_tags tags besides, and a store takes 65,536.
  static constexpr std::size_t most_under_way = 65'536 / (1 + limits::max_tags);

  /// Callers who share one read. The first is apart so that one caller alone costs no vector.
  struct group {
    detail::caller_ptr head;
    std::vector<detail::caller_ptr> rest;
    std::uint64_t sent = 0;  ///< cache_freshness::look_sent()
    /// The verdict of its tags on the entry.
    algo::tag_verdict by_tags = algo::tag_verdict::fresh;

    template <class Visit>
    void for_each(Visit&& visit) const {
      visit(head);
      for (auto const& caller : rest) visit(caller);
    }
  };

  void add(detail::caller_ptr caller) {
    if (next_ < groups_.size()) {
      // The index is made with the second caller.
      if (by_key_.empty()) by_key_.emplace(groups_[next_].head->key.str(), next_);
      auto const [found, fresh] = by_key_.try_emplace(caller->key.str(), groups_.size());
      if (!fresh) return groups_[found->second].rest.push_back(std::move(caller));
    }
    groups_.push_back({std::move(caller), {}});
  }

  /// ended() is to be called for each read that is sent. O(1) for each, amortized.
  template <class Send>
  void send_some(Send&& send) {
    while (next_ < groups_.size() && under_way_ < most_under_way) {
      auto one = std::move(groups_[next_]);
      if (!by_key_.empty()) by_key_.erase(one.head->key.str());
      if (++next_ == groups_.size()) {
        groups_.clear();
        next_ = 0;
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
  // If some wait all the time, the list does not grow for ever.
  void drop_sent() {
    if (next_ < most_under_way || 2 * next_ < groups_.size()) return;
    groups_.erase(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(next_));
    for (auto& [_, at] : by_key_) at -= next_;
    next_ = 0;
  }

  std::vector<group> groups_;  // from next_ on
  std::size_t next_ = 0;
  std::size_t under_way_ = 0;
  std::unordered_map<std::string_view, std::size_t> by_key_;  // the groups that wait
};

}  // namespace herdlock::runtime
