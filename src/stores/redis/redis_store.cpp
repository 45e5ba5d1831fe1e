#include "stores/redis/redis_store.hpp"

#include <herdlock/url_scheme.hpp>

#include "stores/common/tls_source.hpp"
#include "stores/redis/cache/cache_port.hpp"
#include "stores/redis/cluster/cluster_store.hpp"
#include "stores/redis/dialects/getset_dialect.hpp"
#include "stores/redis/dialects/plain_dialect.hpp"
#include "stores/redis/lease_port.hpp"
#include "stores/redis/near/tracked_reads.hpp"
#include "stores/redis/redlock/redlock_store.hpp"
#include "stores/redis/sentinel/sentinel_resolver.hpp"
#include "stores/redis/store_parts.hpp"

namespace herdlock {
namespace {

using server_parts = redis::store_parts<redis::connection>;

// A dialect is the lock alone: its values would have no claims, so there are none.
std::shared_ptr<lease_store> make_leases(server_parts const& shared, redis::settings const& how) {
  switch (how.speaks) {
    case redis::dialect::plain:
      return redis::make_plain_dialect(shared.commands);
    case redis::dialect::getset:
      return redis::make_getset_dialect(shared.commands);
    case redis::dialect::herdlock:
      break;
  }
  return redis::make_lease_port(shared.commands, shared.queues, shared.confirmed);
}

}  // namespace

result<backend> open_redis(store_url url, asio::any_io_executor executor) {
  auto how = redis::parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  if (how->speaks != redis::dialect::herdlock && how->durable.on()) {
    return make_failure(errc::invalid_url, "store URL " + how->display_name +
                                               ": wait_replicas and quarantine are for "
                                               "dialect=herdlock; leave one of them out");
  }
  if (!how->sentinels.empty()) how->resolver = redis::make_sentinel_resolver(executor, *how);
  how->news = std::make_shared<stores::connection_news>(executor);
  auto warnings = std::make_shared<store_warnings>();
  if (how->tls.source) how->tls.source->tell(warnings);
  auto const check = std::make_shared<redis::connection_check>(*how, warnings);
  auto const commands = std::make_shared<redis::connection>(executor, *how, check);
  auto make_wires = [commands, warnings] {
    auto const one = commands->make_event_connection();
    return redis::report_wires{one, one, [one] { one->close(); },
                               redis::ties_of(commands, one, warnings)};
  };
  auto const all =
      std::make_shared<server_parts>(commands, std::move(warnings), std::move(make_wires));
  all->grants->add(all->commands, all->pushes);
  if (how->durable.on()) all->confirmed = std::make_shared<redis::confirmation>(all->commands);
  all->tie_together();
  all->leases = make_leases(*all, *how);
  if (how->speaks == redis::dialect::herdlock) {
    all->values = redis::make_cache_port(all->commands, all->watches);
    auto links = std::make_shared<redis::tracking>();
    links->add(all->commands);
    all->tracked = redis::make_tracked_reads(all->commands, std::move(links), nullptr);
  }
  asio::post(executor, [server = all->commands, proofs = all->confirmed] {
    server->open();
    if (proofs) proofs->open();
  });
  auto made = redis::backend_of(all);
  // A value of dialect=getset has no room for another owner.
  made.traits.leaves_leases = how->speaks != redis::dialect::getset;
  return made;
}

std::span<url_scheme const> v0::redis_schemes() {
  static constexpr url_scheme schemes[] = {
      {"redis", open_redis, examine_redis, survey_redis},
      {"rediss", open_redis, examine_redis, survey_redis},
      {"redis+unix", open_redis, examine_redis, survey_redis},
      {"redis+sentinel", open_redis, examine_redis, survey_redis},
      {"rediss+sentinel", open_redis, examine_redis, survey_redis},
      {"redlock", open_redlock, examine_redlock},
      {"redis+cluster", open_redis_cluster, examine_redis_cluster, survey_redis_cluster},
      {"rediss+cluster", open_redis_cluster, examine_redis_cluster, survey_redis_cluster},
  };
  return schemes;
}

}  // namespace herdlock
