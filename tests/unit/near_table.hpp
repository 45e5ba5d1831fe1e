// A near cache's table as its machine expects it, without anything that a real one is there for.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algo/near_machine.hpp"

namespace herdlock::algo {

template <class Value>
class near_table {
 public:
  /// Does what can be done here; what remains is the caller's: pings, and fences that passed.
  struct rest {
    std::vector<near_action> pings;
    std::uint64_t passed_fence = 0;
  };

  template <class SlotOf>
  rest apply(near_plan const& plan, SlotOf slot_of) {
    using action = near_action::kind;
    rest left;
    for (near_action const& one : plan) {
      if (one.what == action::drop_key) entries_.erase(std::string(one.key));
      if (one.what == action::drop_slot) {
        std::erase_if(entries_, [&](auto const& each) { return slot_of(each.first) == one.slot; });
      }
      if (one.what == action::end) times_[one.generation] = clock::time_point::min();
      if (one.what == action::trust) {
        auto& until = times_.try_emplace(one.generation, one.until).first->second;
        if (until != clock::time_point::min()) until = one.until;
      }
      if (one.what == action::ping) left.pings.push_back(one);
      if (one.what == action::fence_passed) left.passed_fence = one.number;
    }
    return left;
  }

  void insert(std::string_view key, near_entry const& how, Value value) {
    entries_.insert_or_assign(std::string(key), kept{how, std::move(value)});
  }

  std::optional<Value> hit(std::string_view key, clock::time_point now) const {
    auto const at = entries_.find(std::string(key));
    if (at == entries_.end()) return std::nullopt;
    near_entry const& how = at->second.how;
    if (now >= std::min(how.expires, times_.at(how.generation))) return std::nullopt;
    return at->second.value;
  }

 private:
  struct kept {
    near_entry how;
    Value value;
  };

  std::map<std::string, kept> entries_;
  std::map<near_generation, clock::time_point> times_;
};

}  // namespace herdlock::algo
