// Which server a connection leads to.
#include "stores/mysql/connection.hpp"

namespace herdlock::mysql {

namespace {

// Of a node that has not joined yet.
constexpr char no_cluster_yet[] = "00000000-0000-0000-0000-000000000000";

std::string value_of(std::vector<row> const& variables, std::string_view name) {
  for (auto const& each : variables) {
    if (text(each, 0) == name) return text(each, 1);
  }
  return "";
}

// Percona XtraDB Cluster 8 has wsrep_on for each session alone, so it is not among those of all.
bool is_galera(std::vector<row> const& variables) {
  auto const on = value_of(variables, "wsrep_on");
  if (!on.empty()) return on == "ON";
  auto const provider = value_of(variables, "wsrep_provider");
  return !provider.empty() && provider != "none";
}

bool is_group_of_writers(std::vector<row> const& variables) {
  return !value_of(variables, "group_replication_group_name").empty() &&
         value_of(variables, "group_replication_single_primary_mode") == "OFF";
}

}  // namespace

std::string cluster_of(std::vector<row> const& variables) {
  if (is_galera(variables)) return "a Galera cluster";
  return is_group_of_writers(variables) ? "a replication group in multi-primary mode" : "";
}

// The nodes of a cluster count as one server.
std::string identity_of(std::vector<row> const& variables) {
  if (is_galera(variables)) {
    auto const cluster = value_of(variables, "wsrep_cluster_state_uuid");
    return cluster == no_cluster_yet || cluster.empty() ? "" : "cluster=" + cluster + ";";
  }
  if (is_group_of_writers(variables)) {
    return "group=" + value_of(variables, "group_replication_group_name") + ";";
  }
  std::string made;
  for (std::string_view const name : {"hostname", "port", "server_id", "server_uuid", "datadir"}) {
    auto const value = value_of(variables, name);
    if (!value.empty()) made += std::string(name) + "=" + value + ";";
  }
  return made;
}

}  // namespace herdlock::mysql
