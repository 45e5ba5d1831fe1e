// The reads of a cache that have not been sent yet: callers of one key share one.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <herdlock/detail/cache_core.hpp>

#include "algo/tag_check.hpp"

namespace herdlock::runtime {

class shared_looks {
 public:
  /// Callers who share one read. The first is apart so that one caller alone costs no vector.
  struct group {
    detail::caller_ptr head;
    std::vector<detail::caller_ptr> rest;
    std::uint64_t sent = 0;  ///< cache_freshness::look_sent()
    /// What the entry is worth by its tags.
    algo::tag_verdict by_tags = algo::tag_verdict::fresh;

    template <class Visit>
    void for_each(Visit&& visit) const {
      visit(head);
      for (auto const& caller : rest) visit(caller);
    }
  };

  void add(detail::caller_ptr caller) {
    if (!groups_.empty()) {
      // One caller alone is not looked for, and costs no entry.
      if (by_key_.empty()) by_key_.emplace(groups_.front().head->key.str(), 0);
      auto const [found, fresh] = by_key_.try_emplace(caller->key.str(), groups_.size());
      if (!fresh) return groups_[found->second].rest.push_back(std::move(caller));
    }
    groups_.push_back({std::move(caller), {}});
  }

  template <class Send>
  void send_all(Send&& send) {
    by_key_.clear();
    for (auto& one : groups_) send(std::move(one));
    groups_.clear();
  }

 private:
  std::vector<group> groups_;
  std::unordered_map<std::string_view, std::size_t> by_key_;
};

}  // namespace herdlock::runtime
