// Which server a connection leads to.
#include "stores/mysql/connection.hpp"

namespace herdlock::mysql {

std::string cluster_of(std::vector<row> const& variables) {
  bool group = false;
  bool any_node_writes = false;
  for (auto const& each : variables) {
    auto const name = text(each, 0);
    auto const value = text(each, 1);
    if (name == "wsrep_on" && value == "ON") return "a Galera cluster";
    if (name == "group_replication_group_name") group = !value.empty();
    if (name == "group_replication_single_primary_mode") any_node_writes = value == "OFF";
  }
  return group && any_node_writes ? "a replication group in multi-primary mode" : "";
}

std::string identity_of(std::vector<row> const& variables) {
  if (!cluster_of(variables).empty()) return "";
  std::string made;
  for (auto const& each : variables) {
    auto const name = text(each, 0);
    bool const is_its_own = name == "hostname" || name == "port" || name == "server_id" ||
                            name == "server_uuid" || name == "datadir";
    if (is_its_own) made += name + "=" + text(each, 1) + ";";
  }
  return made;
}

}  // namespace herdlock::mysql
