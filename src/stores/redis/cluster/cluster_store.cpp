#include "stores/redis/cluster/cluster_store.hpp"

#include "stores/redis/cache/cache_port.hpp"
#include "stores/redis/cache/cache_watches.hpp"
#include "stores/redis/client/subscription_connection.hpp"
#include "stores/redis/cluster/cluster.hpp"
#include "stores/redis/lease_port.hpp"
#include "stores/redis/queue/lease_queues.hpp"

namespace herdlock {
namespace {

// Both ports and what they share; closes with the last of them.
class cluster_parts {
 public:
  cluster_parts(asio::any_io_executor const& executor, redis::settings const& how,
                std::vector<redis::node_address> seeds, std::shared_ptr<store_warnings> warnings)
      : nodes(std::make_shared<redis::cluster>(executor, how, std::move(seeds), warnings)),
        pushes(std::make_shared<redis::subscription_connection>(nodes->make_event_connection())),
        watches(std::make_shared<redis::cache_watches>(nodes, pushes, std::move(warnings))),
        waits(std::make_shared<redis::lease_queues>(
            nodes, std::make_shared<redis::grant_subscriptions>())),
        leases(redis::make_lease_port(nodes, waits)),
        values(redis::make_cache_port(nodes, watches)) {
    pushes->attach(watches);
  }
  cluster_parts(cluster_parts const&) = delete;
  cluster_parts& operator=(cluster_parts const&) = delete;

  // From whatever thread: the closing itself happens on the executor.
  ~cluster_parts() {
    asio::dispatch(nodes->executor(),
                   [all = nodes, line = pushes, events = watches, queue = waits] {
                     queue->close();
                     events->close();
                     line->close();
                     all->close();
                   });
  }

  std::shared_ptr<redis::cluster> nodes;
  std::shared_ptr<redis::subscription_connection> pushes;
  std::shared_ptr<redis::cache_watches> watches;
  std::shared_ptr<redis::lease_queues> waits;
  std::shared_ptr<lease_store> leases;
  std::shared_ptr<cache_store> values;
};

std::vector<redis::node_address> seeds_of(store_url const& url) {
  std::vector<redis::node_address> seeds;
  for (auto const& one : url.hosts) seeds.push_back({one.host, one.port.value_or(6379)});
  if (seeds.empty()) seeds.push_back({url.host, url.port.value_or(6379)});
  return seeds;
}

}  // namespace

result<backend> open_redis_cluster(store_url url, asio::any_io_executor executor) {
  auto seeds = seeds_of(url);
  auto how = redis::parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  if (auto const why = redis::refuse_single_server_options(*how); why.code) return why;
  if (how->database != 0) {
    return make_failure(errc::invalid_url, "store URL " + how->display_name +
                                               ": a cluster has no databases but 0; leave out '/" +
                                               std::to_string(how->database) + "'");
  }
  if (auto const tls = stores::make_tls(how->tls, how->display_name); tls.has_error())
    return tls.error();
  how->part = redis::server_part::cluster_node;
  backend made;
  made.warnings = std::make_shared<store_warnings>();
  auto const all = std::make_shared<cluster_parts>(executor, *how, std::move(seeds), made.warnings);
  made.leases = std::shared_ptr<lease_store>(all, all->leases.get());
  made.values = std::shared_ptr<cache_store>(all, all->values.get());
  made.traits.queues = true;
  made.traits.across_processes = true;
  made.traits.across_hosts = true;
  made.traits.pushes_fills = true;
  made.display_name = how->display_name;
  asio::post(executor, [nodes = all->nodes] { nodes->open(); });
  return made;
}

}  // namespace herdlock
