#include "stores/redis/cluster/cluster_members.hpp"

#include <algorithm>

namespace herdlock::redis {
namespace {

bool share_one(node_ids const& some, node_ids const& others) {
  return std::ranges::any_of(some, [&](auto const& id) { return others.contains(id); });
}

}  // namespace

failure cluster_members::check(reply const& slots, std::string const& address) {
  if (slots.is_error()) return {};
  auto const map = cluster_map::parse(slots, {});
  return map.has_error() ? failure{} : check(*map, address);
}

failure cluster_members::check(cluster_map const& map, std::string const& address) {
  if (ids_.empty() || share_one(map.ids(), ids_)) return {};
  auto why = make_failure(
      errc::unavailable,
      store_ + ": the node at " + address + " belongs to another cluster: it knows none of the " +
          std::to_string(ids_.size()) +
          " nodes of the one that was opened; see who was given its address, or, if the cluster "
          "was built anew, open the store again");
  warn(why.message);
  return why;
}

void cluster_members::warn_of_hidden_state(std::string_view line, std::string const& address) {
  warn(store_ + ": the node at " + address + " does not say how it sees its cluster (it says " +
       in_quotes(line) +
       "), so nobody can tell whether it was cut off and its map is old; permit CLUSTER INFO in "
       "the user's ACL (+cluster|info)");
}

void cluster_members::warn(std::string text) {
  if (warnings_) warnings_->add(std::move(text));
}

}  // namespace herdlock::redis
