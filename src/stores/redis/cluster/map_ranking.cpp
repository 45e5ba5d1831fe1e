#include "stores/redis/cluster/map_ranking.hpp"

#include <algorithm>

#include "stores/common/numbers.hpp"
#include "stores/redis/client/server_facts.hpp"

namespace herdlock::redis {
namespace {

bool is_better(node_view const& one, node_view const& other) {
  bool const one_ok = one.ok.value_or(true);
  bool const other_ok = other.ok.value_or(true);
  if (one_ok != other_ok) return one_ok;
  return one.epoch.value_or(0) > other.epoch.value_or(0);
}

}  // namespace

node_view read_cluster_info(std::string_view text) {
  node_view view;
  for_each_fact(text, [&](auto name, auto value) {
    if (name == "cluster_state" && value == "ok") view.ok = true;
    if (name == "cluster_state" && value == "fail") view.ok = false;
    if (name == "cluster_current_epoch") view.epoch = whole_number<std::uint64_t>(value);
  });
  return view;
}

void map_ranking::begin_search(std::vector<node_address> const& nodes) {
  best_.reset();
  std::erase_if(suspects_, [&](auto const& one) { return !std::ranges::count(nodes, one); });
}

bool map_ranking::is_sound(node_view const& view) const {
  return view.ok.value_or(true) && (!view.epoch || !epoch_ || *view.epoch >= *epoch_);
}

map_worth map_ranking::rank(node_address const& from, node_view const& view) {
  if (is_sound(view)) {
    suspects_.erase(from);
    return map_worth::counts;
  }
  suspects_.insert(from);
  if (best_ && !is_better(view, *best_)) return map_worth::worse;
  best_ = view;
  return map_worth::best;
}

void map_ranking::now_in_use(node_view const& view) {
  if (view.epoch) epoch_ = view.epoch;
}

std::vector<map_ranking::node_address> map_ranking::in_order(
    std::vector<node_address> nodes) const {
  std::stable_partition(nodes.begin(), nodes.end(),
                        [&](auto const& one) { return !suspects_.contains(one); });
  return nodes;
}

}  // namespace herdlock::redis
