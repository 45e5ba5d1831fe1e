#include "stores/redis/redlock/redlock_settings.hpp"

#include <algorithm>

#include "algo/quorum.hpp"

namespace herdlock::redis {
namespace {

constexpr milliseconds min_node_timeout{5};
constexpr std::uint16_t default_port = 6379;

failure bad_url(std::string const& shown, std::string const& why) {
  return make_failure(errc::invalid_url, "store URL " + shown + ": " + why);
}

failure check_hosts(redlock_settings const& s, std::vector<host_and_port> const& hosts) {
  if (hosts.size() < min_redlock_nodes || hosts.size() > algo::max_quorum_nodes) {
    return bad_url(s.display_name,
                   "it names " + std::to_string(hosts.size()) + " nodes; write " +
                       std::to_string(min_redlock_nodes) + " to " +
                       std::to_string(algo::max_quorum_nodes) +
                       " of independent servers, an odd number: redlock://host1,host2,host3" +
                       (hosts.size() == 1 ? " (for one server: redis://host)" : ""));
  }
  for (auto one = hosts.begin(); one != hosts.end(); ++one) {
    auto const same = [&](host_and_port const& other) {
      return other.host == one->host &&
             other.port.value_or(default_port) == one->port.value_or(default_port);
    };
    if (std::find_if(hosts.begin(), one, same) != one) {
      return bad_url(s.display_name, "the node " + in_quotes(one->host) + ":" +
                                         std::to_string(one->port.value_or(default_port)) +
                                         " is named twice; a majority of votes needs nodes that "
                                         "are independent of each other");
    }
  }
  return {};
}

failure take_times(redlock_settings& s, store_url& url) {
  auto const node_timeout = url.take_duration("node_timeout", s.node_timeout);
  if (node_timeout.has_error()) return node_timeout.error();
  s.node_timeout = *node_timeout;
  auto const restart_delay = url.take_duration("restart_delay", s.restart_delay);
  if (restart_delay.has_error()) return restart_delay.error();
  s.restart_delay = *restart_delay;
  if (s.restart_delay > limits::max_ttl) {
    return bad_url(s.display_name, "the restart_delay must be at most a year, or 0 for none");
  }
  return {};
}

// The rest of the URL is that of a single server. What is wrong with it is told of the whole.
result<settings> parse_node(store_url url, host_and_port const& where, std::string const& shown) {
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
  auto hosts = url.hosts;
  if (hosts.empty() && !url.host.empty()) hosts.push_back({url.host, url.port});
  if (auto why = check_hosts(s, hosts); why.code) return why;
  if (auto why = take_times(s, url); why.code) return why;
  std::string const tls = url.take_text("tls", "off");
  if (tls != "on" && tls != "off") {
    return bad_url(s.display_name, "tls=" + in_quotes(tls) + " is unknown; write on or off");
  }
  url.scheme = tls == "on" ? "rediss" : "redis";
  for (auto const& one : hosts) {
    auto node = parse_node(url, one, s.display_name);
    if (node.has_error()) return node.error();
    s.nodes.push_back(std::move(*node));
  }
  if (auto const why = refuse_single_server_options(s.nodes.front()); why.code) {
    return bad_url(s.display_name,
                   "wait_replicas, quarantine and dialect are for a single server "
                   "or Sentinel; leave them out");
  }
  s.timeout = s.nodes.front().timeout;
  if (s.node_timeout < min_node_timeout || s.node_timeout > s.timeout) {
    return bad_url(s.display_name, "the node_timeout must be from 5ms to the timeout (" +
                                       std::to_string(s.timeout.count()) + "ms)");
  }
  return s;
}

}  // namespace herdlock::redis
