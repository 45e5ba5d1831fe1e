// The calls of a cache on their way to its executor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <herdlock/detail/cache_core.hpp>

namespace herdlock::runtime {

class cache_arrivals {
 public:
  using callers = std::vector<detail::caller_ptr>;

  /// Any thread. Takes so many from the front that no more than `most` are on their way. True when
  /// they are to be fetched: nobody else sees to it.
  bool add(std::span<detail::caller_ptr>& all, std::size_t most) {
    std::lock_guard const lock(mutex_);
    bool fetches = false;
    while (!all.empty() && coming_.size() < most) {
      coming_.push_back(std::move(all.front()));
      all = all.subspan(1);
      fetches = !std::exchange(is_fetched_, true) || fetches;
    }
    return fetches;
  }

  /// On the executor: one who was here already. The same.
  bool again(detail::caller_ptr caller) {
    back_.push_back(std::move(caller));
    std::lock_guard const lock(mutex_);
    return !std::exchange(is_fetched_, true);
  }

  /// On the executor: `here` is called with those who were here already, `came` with the others.
  template <class Here, class Came>
  void fetch(Here&& here, Came&& came) {
    callers batch = std::exchange(spare_, {});
    {
      std::lock_guard const lock(mutex_);
      batch.swap(coming_);
      is_fetched_ = false;
    }
    for (auto& caller : std::exchange(back_, {})) here(std::move(caller));
    for (auto& caller : batch) came(std::move(caller));
    batch.clear();
    spare_ = std::move(batch);
  }

 private:
  std::mutex mutex_;
  callers coming_;           // mutex_
  bool is_fetched_ = false;  // mutex_: somebody is to fetch them
  callers back_;
  callers spare_;  // an empty batch with its memory
};

}  // namespace herdlock::runtime
