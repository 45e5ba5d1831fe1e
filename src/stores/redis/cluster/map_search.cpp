#include "stores/redis/cluster/map_search.hpp"

namespace herdlock::redis {

std::vector<node_address> map_search::next_round(std::vector<node_address> const& nodes) {
  std::vector<node_address> some;
  last_ = true;
  for (auto const& one : nodes) {
    if (asked_.contains(one)) continue;
    if (some.size() == max_nodes_of_round) {
      last_ = false;
      break;
    }
    some.push_back(one);
  }
  asked_.insert(some.begin(), some.end());
  return some;
}

void map_search::note(failure const& why) {
  bool const is_silence = why == errc::unavailable || why == errc::timed_out;
  if (!why_.code || !is_silence) why_ = why;
}

}  // namespace herdlock::redis
