// What is due when: expiries of leases, values, claims and errors, and the ends of waits.
#pragma once

#include <functional>
#include <herdlock/types.hpp>
#include <map>
#include <optional>
#include <utility>

namespace herdlock::memory {

/// The end of a span that may be "for ever".
inline clock::time_point after(clock::time_point now, milliseconds span) {
  return span > limits::max_ttl ? clock::time_point::max() : now + span;
}

/// How long from now, rounded up so that it is 0 only for what is over.
inline milliseconds left(clock::time_point now, clock::time_point end) {
  return end <= now ? milliseconds{0} : std::chrono::ceil<milliseconds>(end - now);
}

class deadlines {
 public:
  using action = std::function<void(clock::time_point)>;
  /// Where an action stands; empty once it has run or was removed.
  using entry = std::optional<std::multimap<clock::time_point, action>::iterator>;

  entry add(clock::time_point when, action what) { return due_.emplace(when, std::move(what)); }

  void remove(entry& where) {
    if (where) due_.erase(*where);
    where.reset();
  }

  void move(entry& where, clock::time_point when) {
    auto node = due_.extract(*where);
    node.key() = when;
    where = due_.insert(std::move(node));
  }

  /// time_point::max() when nothing is due ever.
  clock::time_point next() const {
    return due_.empty() ? clock::time_point::max() : due_.begin()->first;
  }

  /// Runs what is due; an action resets the entry it was added as.
  void run(clock::time_point now) {
    while (!due_.empty() && due_.begin()->first <= now) due_.extract(due_.begin()).mapped()(now);
  }

 private:
  std::multimap<clock::time_point, action> due_;
};

}  // namespace herdlock::memory
