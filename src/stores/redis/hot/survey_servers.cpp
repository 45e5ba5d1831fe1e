#include "stores/redis/hot/survey_servers.hpp"

#include <algorithm>
#include <utility>

#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/cluster/map_question.hpp"
#include "stores/redis/cluster/slots.hpp"
#include "stores/redis/sentinel/sentinel_master.hpp"

namespace herdlock::redis {
namespace {

// Beside those of the URL, each of which may take its whole timeout.
constexpr std::size_t most_named = 4;

settings settings_of_node(settings const& how, node_address const& at) {
  settings one = how.at(at);
  one.part = server_part::cluster_node;
  return one;
}

// A node whose view may not be seen is believed as it is.
result<map_answer> ask_for_map(settings const& node, node_address const& at) {
  auto const answers = ask_once(node, {{"CLUSTER", "SLOTS"}, {"CLUSTER", "INFO"}});
  if (!answers) return answers.error();
  reply const& slots = answers->at(0);
  reply const& info = answers->at(1);
  if (slots.is_error()) return server_failure(slots.text(), node.display_name);
  auto map = cluster_map::parse(slots, at);
  if (!map) return failure{map.error().code, node.display_name + ": " + map.error().message};
  return map_answer{std::move(*map),
                    info.is_error() ? node_view{} : read_cluster_info(info.text())};
}

void add_named(std::vector<node_address>& nodes, cluster_map const& map, std::size_t most) {
  for (auto const& one : map.masters()) {
    if (nodes.size() < most && std::ranges::count(nodes, one) == 0) nodes.push_back(one);
  }
}

}  // namespace

std::optional<std::size_t> surveyed_servers::home_of(std::string_view key) const {
  if (!map) return 0;
  auto const* const owner = map->owner(key_slot(key));
  if (!owner) return std::nullopt;
  return static_cast<std::size_t>(owner - map->masters().data());
}

result<surveyed_servers> find_servers(settings how) {
  if (!how.sentinels.empty()) {
    auto const told = ask_sentinels(how);
    auto const master = told.master();
    if (!master) {
      return how.failed(errc::unavailable,
                        "no sentinel knows the master " + in_quotes(how.master_name) +
                            (told.last_error.empty() ? "" : " (" + told.last_error + ")") +
                            "; start the sentinels, or put the name in the URL right");
    }
    how = how.at(*master);
  }
  return surveyed_servers{{std::move(how)}, std::nullopt};
}

result<surveyed_servers> find_cluster_servers(settings const& how,
                                              std::vector<node_address> const& seeds) {
  failure last;
  map_ranking ranking;
  std::optional<map_answer> best;
  // Also those whom a doubtful map names: the URL may name only the node that was cut off.
  auto nodes = seeds;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto const at = nodes[i];
    auto told = ask_for_map(settings_of_node(how, at), at);
    if (!told) {
      last = told.error();
      continue;
    }
    auto const worth = ranking.rank(at, told->view);
    if (worth != map_worth::counts) add_named(nodes, told->map, seeds.size() + most_named);
    if (worth != map_worth::worse) best = std::move(*told);
    if (worth == map_worth::counts) break;
  }
  if (!best) return last;
  surveyed_servers found;
  for (auto const& node : best->map.masters()) {
    found.masters.push_back(settings_of_node(how, node));
  }
  found.map = std::move(best->map);
  return found;
}

}  // namespace herdlock::redis
