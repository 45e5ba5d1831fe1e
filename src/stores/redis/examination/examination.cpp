#include "stores/redis/redis_store.hpp"

#include <set>

#include "stores/redis/examination/examine_server.hpp"
#include "stores/redis/redlock/redlock_settings.hpp"
#include "stores/redis/sentinel/sentinel_master.hpp"

namespace herdlock {
namespace {

using namespace redis;

// The server that Sentinel names, or the one of the URL; and whether the sentinels could make
// another the master.
std::optional<settings> find_master(settings const& how, examination& into) {
  if (how.sentinels.empty()) return how;
  auto const told = ask_sentinels(how);
  into.expect(told.agree * 2 > how.sentinels.size(),
              {"sentinel.quorum", severity::error,
               std::to_string(told.agree) + " of " + std::to_string(how.sentinels.size()) +
                   " sentinels could bring about a failover of " + in_quotes(how.master_name) +
                   (told.last_error.empty() ? "" : " (" + told.last_error + ")"),
               "when the master dies no other takes its place, and nothing is granted",
               "start the missing sentinels, and let an odd number, at least 3, watch the master"});
  auto const others = told.vote.dissent();
  into.expect(others.empty(),
              {"sentinel.agreement", severity::warning,
               "the sentinels do not name the same master: " + others,
               "the address that most of them name counts; with one more that is wrong, or silent, "
               "it may be another",
               "restart the ones that are wrong, or take them out of the URL"});
  auto const master = told.master();
  if (!master) return std::nullopt;
  return how.at(*master);
}

struct node_report {
  std::size_t reached = 0;
  std::vector<std::string> missing;
  std::vector<std::string> run_ids;
};

access_use use_of(settings const& how) {
  if (how.speaks == dialect::plain) return access_use::plain_locks;
  if (how.speaks == dialect::getset) return access_use::getset_locks;
  return access_use::leases_and_values;
}

node_report look_at_all(std::vector<settings> const& nodes, access_use use, examination& into,
                        char const* against_forgetting) {
  node_report told;
  for (auto const& node : nodes) {
    examination one;
    auto const facts = check_server(node, use, one, against_forgetting);
    if (facts) {
      ++told.reached;
      told.run_ids.push_back(facts->run_id);
      for (auto& each : one.findings) into.find(std::move(each));
      for (auto& each : one.passed) into.pass(std::move(each));
    } else {
      told.missing.push_back(node.address());
    }
    for (auto& each : one.skipped) into.skipped.push_back(std::move(each));
  }
  return told;
}

std::string joined(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

result<examination> examine_redis(store_url url) {
  auto how = parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  examination made;
  if (auto const at = find_master(*how, made)) check_server(*at, use_of(*at), made);
  return made;
}

result<examination> examine_redlock(store_url url) {
  auto how = parse_redlock_settings(std::move(url));
  if (how.has_error()) return how.error();
  examination made;
  // With a restart_delay a node that has forgotten its leases grants nothing until they are over.
  bool const waits = how->restart_delay > milliseconds{0};
  auto const told =
      look_at_all(how->nodes, access_use::redlock, made,
                  waits ? nullptr : "set appendonly yes, or leave restart_delay out (60s)");
  std::size_t const all = how->nodes.size();
  bool const majority = told.reached * 2 > all;
  made.expect(told.missing.empty(),
              {"redlock.nodes", majority ? severity::warning : severity::error,
               joined(told.missing) + " cannot be reached, " + std::to_string(told.reached) +
                   " of " + std::to_string(all) + " can",
               majority ? "fewer nodes may fail before nothing is granted any more"
                        : "there is no majority: nothing is granted",
               "start them, or let the network through"});
  std::set<std::string> const distinct(told.run_ids.begin(), told.run_ids.end());
  made.expect(distinct.size() == told.run_ids.size(),
              {"redlock.distinct", severity::error,
               std::to_string(told.run_ids.size()) + " nodes are " +
                   std::to_string(distinct.size()) + " servers: a server is named twice",
               "a majority of names is not a majority of servers, and two clients can hold at once",
               "name each independent server once"});
  made.expect(all % 2 == 1,
              {"redlock.odd", severity::warning, std::to_string(all) + " nodes",
               "they stand the loss of no more than " + std::to_string(all - 1) + " do",
               "name an odd number"});
  made.expect(how->restart_delay > milliseconds{0},
              {"redlock.restart_delay", severity::warning, "restart_delay=0",
               "a node that is restarted without its data may let a second holder in",
               "give it the longest ttl in use, or leave it out (60s)"});
  return made;
}

result<examination> examine_redis_cluster(store_url url) {
  auto const hosts = stores::hosts_of(url, 6379);
  auto how = parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  how->part = server_part::cluster_node;
  std::vector<settings> nodes;
  for (auto const& at : hosts) nodes.push_back(how->at(at));
  examination made;
  auto const told =
      look_at_all(nodes, access_use::leases_and_values, made, "set appendonly yes on every node");
  made.expect(told.missing.empty(),
              {"cluster.nodes", told.reached == 0 ? severity::error : severity::warning,
               joined(told.missing) + " cannot be reached",
               told.reached == 0 ? "there is no lock to be had"
                                 : "whoever starts with these addresses finds the cluster later, "
                                   "or not at all when the others fail, too",
               "start them, or name nodes that are there"});
  return made;
}

}  // namespace herdlock
