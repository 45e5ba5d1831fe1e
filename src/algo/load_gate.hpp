// How many may load at once, and whether the store is worth asking. Pure.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <utility>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// So many at once; the others queue, first come first served. O(1) each.
template <class T>
class slot_queue {
 public:
  using position = typename std::list<T>::iterator;

  explicit slot_queue(std::size_t slots) : free_(slots) {}

  /// Takes a free slot: true. Otherwise the caller queues with wait().
  bool try_take() {
    if (free_ == 0) return false;
    --free_;
    return true;
  }

  position wait(T who) { return waiting_.insert(waiting_.end(), std::move(who)); }
  void leave(position at) { waiting_.erase(at); }

  /// Gives a slot back: to the first in the queue, who is returned, or to nobody.
  std::optional<T> give_back() {
    if (waiting_.empty()) {
      ++free_;
      return std::nullopt;
    }
    T next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

  std::size_t free() const noexcept { return free_; }
  std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  std::size_t free_;
  std::list<T> waiting_;
};

/// The use of a store that may be failing, for one request.
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
  static constexpr milliseconds shortest_pause{250};
  static constexpr milliseconds longest_pause{1000};

  store_use next(clock::time_point now) {
    if (!failing_) return store_use::ask;
    if (probing_ || now < pause_until_) return store_use::skip;
    probing_ = true;
    return store_use::skip_and_probe;
  }

  /// `random` is uniform in [0, 1): processes that saw one outage do not probe in step.
  void failed(clock::time_point now, double random) {
    failing_ = true;
    probing_ = false;
    pause_until_ =
        now + shortest_pause +
        std::chrono::duration_cast<clock::duration>((longest_pause - shortest_pause) * random);
  }

  void succeeded() {
    failing_ = false;
    probing_ = false;
  }

  /// There is reason to believe that it is back: the next request is a probe.
  void ask_soon() {
    probing_ = false;
    pause_until_ = {};
  }

  /// The probe ended without an answer: the next request is one.
  void probe_over() { probing_ = false; }

  bool failing() const noexcept { return failing_; }

 private:
  bool failing_ = false;
  bool probing_ = false;
  clock::time_point pause_until_{};
};

}  // namespace herdlock::algo
