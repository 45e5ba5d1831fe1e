#include "stores/redis/redlock/redlock_settings.hpp"

#include <algorithm>

#include "algo/quorum.hpp"

namespace herdlock::redis {
namespace {

constexpr std::uint16_t default_port = 6379;

void check_hosts(stores::option_reader& in, std::vector<stores::server_address> const& hosts) {
  if (hosts.size() < min_redlock_nodes || hosts.size() > algo::max_quorum_nodes) {
    in.refuse("it names " + std::to_string(hosts.size()) + " nodes; write " +
              std::to_string(min_redlock_nodes) + " to " + std::to_string(algo::max_quorum_nodes) +
              " of independent servers, an odd number: redlock://host1,host2,host3" +
              (hosts.size() == 1 ? " (for one server: redis://host)" : ""));
  }
  for (auto one = hosts.begin(); one != hosts.end(); ++one) {
    if (std::find(hosts.begin(), one, *one) != one) {
      in.refuse("the node " + in_quotes(one->host) + ":" + std::to_string(one->port) +
                " is named twice; a majority of votes needs nodes that are independent of each "
                "other");
    }
  }
}

// The rest of the URL is that of a single server. What is wrong with it is told of the whole.
result<settings> parse_node(store_url url, stores::server_address const& where,
                            std::string const& shown) {
  url.host = where.host;
  url.port = where.port;
  url.hosts.clear();
  std::string const as_one = url.redacted();
  auto node = parse_settings(std::move(url));
  if (node.has_value()) {
    node->display_name = node->address();
    return node;
  }
  failure why = node.error();
  if (auto const at = why.message.find(as_one); at != std::string::npos) {
    why.message.replace(at, as_one.size(), shown);
  }
  return why;
}

}  // namespace

result<redlock_settings> parse_redlock_settings(store_url url) {
  redlock_settings s;
  s.display_name = url.redacted();
  stores::option_reader in(url, {"redlock", {redlock_options}});
  auto const hosts = url.host.empty() ? std::vector<stores::server_address>()
                                      : stores::hosts_of(url, default_port);
  check_hosts(in, hosts);
  s.node_timeout = in.duration("node_timeout");
  s.restart_delay = in.duration("restart_delay");
  url.scheme = in.chosen("tls") == 1 ? "rediss" : "redis";
  if (in.error().code) return in.error();
  for (auto const& one : hosts) {
    auto node = parse_node(url, one, s.display_name);
    if (node.has_error()) return node.error();
    s.nodes.push_back(std::move(*node));
  }
  if (refuse_single_server_options(s.nodes.front()).code) {
    in.refuse(
        "wait_replicas, quarantine and dialect are for a single server or Sentinel; leave them "
        "out");
  }
  s.timeout = s.nodes.front().timeout;
  if (s.node_timeout > s.timeout) {
    in.refuse("the node_timeout must be from 5ms to the timeout (" +
              std::to_string(s.timeout.count()) + "ms)");
  }
  if (in.error().code) return in.error();
  return s;
}

}  // namespace herdlock::redis
