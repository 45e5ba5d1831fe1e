// Takes out of a table of keys what may go, a few keys at a time. Pure.
//
// A table that is full is looked through when a key comes. It has as many keys as its bound allows,
// and they are looked at on the executor that renews leases: so no step looks at all of them. The
// hand stops where it is, and the next step goes on from there, around and around.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

namespace herdlock::algo {

class sweep_hand {
 public:
  /// So many keys are looked at in one step.
  static constexpr std::size_t looks = 16;

  /// Erases those of the next keys of an ordered map of which `may_go(one)` holds, `one` being the
  /// key and what belongs to it. O(log n).
  template <class Map, class Condition>
  void step(Map& keys, Condition&& may_go) {
    auto left = std::min(looks, keys.size());
    auto at = keys.lower_bound(next_);
    for (; left > 0; --left) {
      if (at == keys.end()) at = keys.begin();
      ++looked_;
      at = may_go(*at) ? keys.erase(at) : std::next(at);
    }
    next_ = at == keys.end() ? std::string() : at->first;
  }

  /// How many keys have been looked at in all steps.
  std::size_t looked() const noexcept { return looked_; }

 private:
  std::string next_;
  std::size_t looked_ = 0;
};

}  // namespace herdlock::algo
