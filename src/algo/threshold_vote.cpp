#include "algo/threshold_vote.hpp"

#include <algorithm>

namespace herdlock::algo {

void threshold_vote::voted(std::uint64_t process, fleet_thresholds const& asked) {
  auto const found = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](kind const& one) { return one.asked == asked; });
  if (found != kinds_.end()) {
    found->by.insert(process);
  } else if (kinds_.size() < most_kinds) {
    kinds_.push_back({.asked = asked, .by = {process}});
  }
}

fleet_thresholds threshold_vote::count(fleet_thresholds const& present) {
  auto chosen = present;
  std::size_t most = 0;
  for (kind const& one : kinds_) {
    bool const is_more = one.by.size() > most;
    bool const is_present = one.by.size() == most && one.asked == present;
    if (!is_more && !is_present) continue;
    most = one.by.size();
    chosen = one.asked;
  }
  kinds_.clear();
  return chosen;
}

}  // namespace herdlock::algo
