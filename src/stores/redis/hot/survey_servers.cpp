#include "stores/redis/hot/survey_servers.hpp"

#include <utility>

#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/cluster/slots.hpp"
#include "stores/redis/sentinel/sentinel_master.hpp"

namespace herdlock::redis {
namespace {

settings settings_of_node(settings const& how, node_address const& at) {
  settings one = how.at(at);
  one.part = server_part::cluster_node;
  return one;
}

result<cluster_map> ask_for_map(settings const& node, node_address const& at) {
  auto const answers = ask_once(node, {{"CLUSTER", "SLOTS"}});
  if (!answers) return answers.error();
  reply const& slots = answers->at(0);
  if (slots.is_error()) return server_failure(slots.text(), node.display_name);
  auto map = cluster_map::parse(slots, at);
  if (map) return map;
  return failure{map.error().code, node.display_name + ": " + map.error().message};
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
  for (auto const& at : seeds) {
    auto map = ask_for_map(settings_of_node(how, at), at);
    if (!map) {
      last = map.error();
      continue;
    }
    surveyed_servers found;
    for (auto const& node : map->masters()) found.masters.push_back(settings_of_node(how, node));
    found.map = std::move(*map);
    return found;
  }
  return last;
}

}  // namespace herdlock::redis
