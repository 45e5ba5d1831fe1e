// How many may load at once, and whether the store is worth asking. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// So many at once, and so many of one key; the others queue, first come first served. O(log slots)
/// each; give_back() beyond that in those who wait for their key.
template <class T>
class slot_queue {
  struct waiter {
    std::string key;
    T who;
  };

 public:
  using position = typename std::list<waiter>::iterator;

  explicit slot_queue(std::size_t slots, std::size_t most_of_key = no_limit)
      : free_(slots), most_of_key_(most_of_key) {}

  /// Takes a free slot: true. Otherwise the caller queues with wait().
  bool try_take(std::string_view key) {
    if (free_ == 0 || !may_take(key)) return false;
    take(key);
    return true;
  }

  position wait(std::string_view key, T who) {
    return waiting_.insert(waiting_.end(), {std::string(key), std::move(who)});
  }
  void leave(position at) { waiting_.erase(at); }

  /// Gives a slot of the key back: to the first in the queue whose key may have one more, who is
  /// returned, or to nobody.
  std::optional<T> give_back(std::string_view key) {
    ++free_;
    if (auto const at = taken_.find(key); at != taken_.end() && --at->second == 0) taken_.erase(at);
    for (auto next = waiting_.begin(); next != waiting_.end(); ++next) {
      if (!may_take(next->key)) continue;
      take(next->key);
      T who = std::move(next->who);
      waiting_.erase(next);
      return who;
    }
    return std::nullopt;
  }

  std::size_t free() const noexcept { return free_; }
  std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  static constexpr std::size_t no_limit = SIZE_MAX;

  bool may_take(std::string_view key) const {
    auto const at = taken_.find(key);
    return at == taken_.end() || at->second < most_of_key_;
  }
  void take(std::string_view key) {
    if (most_of_key_ != no_limit) ++taken_.try_emplace(std::string(key), 0).first->second;
    --free_;
  }

  std::size_t free_;
  std::size_t most_of_key_;
  std::map<std::string, std::size_t, std::less<>> taken_;  // by key; empty where there is no limit
  std::list<waiter> waiting_;
};

struct health_options {
  milliseconds shortest_pause{250};
  milliseconds longest_pause{1000};
};

/// What to do with a request while the store may be failing.
enum class store_use {
  ask,             ///< it works as far as we know
  skip,            ///< it failed a moment ago
  skip_and_probe,  ///< skip, and send one request beside it to see whether it is back
};

/// Remembers that a store fails, so that only the first requests pay its timeout: after a failure
/// it is left alone for a pause, then asked by one probe at a time, beside the callers' own way,
/// until one succeeds.
class store_health {
 public:
  explicit store_health(health_options options = {}) : options_(options) {}

  store_use next(clock::time_point now) {
    if (!failing_) return store_use::ask;
    if (probing_ || now < pause_until_) return store_use::skip;
    probing_ = true;
    return store_use::skip_and_probe;
  }

  /// `random` is uniform in [0, 1): processes that saw one outage do not probe in step.
  void failed(clock::time_point now, double random) {
    auto const spread = options_.longest_pause - options_.shortest_pause;
    failing_ = true;
    probing_ = false;
    pause_until_ = now + options_.shortest_pause +
                   std::chrono::duration_cast<clock::duration>(spread * random);
  }

  void succeeded() {
    failing_ = false;
    probing_ = false;
  }

  /// The probe ended without an answer: the next request is one.
  void probe_over() { probing_ = false; }

  bool failing() const noexcept { return failing_; }

 private:
  health_options options_;
  bool failing_ = false;
  bool probing_ = false;
  clock::time_point pause_until_{};
};

}  // namespace herdlock::algo
