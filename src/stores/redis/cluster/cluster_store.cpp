#include "stores/redis/cluster/cluster_store.hpp"

#include "stores/common/tls_source.hpp"
#include "stores/redis/cache/cache_port.hpp"
#include "stores/redis/cluster/cluster.hpp"
#include "stores/redis/cluster/slots.hpp"
#include "stores/redis/lease_port.hpp"
#include "stores/redis/near/tracked_reads.hpp"
#include "stores/redis/store_parts.hpp"

namespace herdlock {

result<backend> open_redis_cluster(store_url url, asio::any_io_executor executor) {
  auto seeds = stores::hosts_of(url, 6379);
  auto how = redis::parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  if (auto const why = redis::refuse_single_server_options(*how); why.code) return why;
  if (how->database != 0) {
    return make_failure(errc::invalid_url, "store URL " + how->display_name +
                                               ": a cluster has no databases but 0; leave out '/" +
                                               std::to_string(how->database) + "'");
  }
  how->part = redis::server_part::cluster_node;
  auto warnings = std::make_shared<store_warnings>();
  if (how->tls.source) how->tls.source->tell(warnings);
  auto links = std::make_shared<redis::tracking>();
  auto make_wires = [executor, how = *how, seeds, warnings] {
    auto const servers = std::make_shared<redis::cluster>(executor, how, seeds, warnings);
    servers->open();
    auto const events = servers->make_event_connection();
    return redis::report_wires{servers, events, [servers, events] {
                                 events->close();
                                 servers->close();
                               }};
  };
  how->news = std::make_shared<stores::connection_news>(executor);
  auto nodes = std::make_shared<redis::cluster>(executor, *how, std::move(seeds), warnings, links);
  auto const all = std::make_shared<redis::store_parts<redis::cluster>>(
      std::move(nodes), std::move(warnings), std::move(make_wires));
  all->leases = redis::make_lease_port(all->commands, all->queues, nullptr);
  all->values = redis::make_cache_port(all->commands, all->watches);
  all->tracked = redis::make_tracked_reads(all->commands, std::move(links), redis::key_slot);
  asio::post(executor, [cluster = all->commands] { cluster->open(); });
  auto made = redis::backend_of(all);
  made.traits.leaves_leases = true;
  return made;
}

}  // namespace herdlock
