#include "stores/redis/redis_store.hpp"

#include "stores/redis/cache/cache_port.hpp"
#include "stores/redis/cache/cache_watches.hpp"
#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/subscription_connection.hpp"
#include "stores/redis/dialects/getset_dialect.hpp"
#include "stores/redis/dialects/plain_dialect.hpp"
#include "stores/redis/durability/confirmed_leases.hpp"
#include "stores/redis/lease_port.hpp"
#include "stores/redis/queue/grant_subscriptions.hpp"
#include "stores/redis/queue/lease_queues.hpp"
#include "stores/redis/sentinel/sentinel_resolver.hpp"

namespace herdlock {
namespace {

// What both ports share; closes with the last of them.
class connections {
 public:
  connections(asio::any_io_executor const& executor, redis::settings const& how,
              std::shared_ptr<store_warnings> warnings)
      : commands(std::make_shared<redis::connection>(
            executor, how, std::make_shared<redis::connection_check>(how, warnings))),
        pushes(std::make_shared<redis::subscription_connection>(commands->make_event_connection())),
        watches(std::make_shared<redis::cache_watches>(commands, pushes, std::move(warnings))),
        grants(std::make_shared<redis::grant_subscriptions>()),
        waits(std::make_shared<redis::lease_queues>(commands, grants)) {
    pushes->attach(watches);
    grants->add(commands, pushes);
    if (how.durable.on()) confirmed = std::make_shared<redis::confirmation>(executor, how);
  }
  connections(connections const&) = delete;
  connections& operator=(connections const&) = delete;

  // From whatever thread: the closing itself happens on the executor.
  ~connections() {
    asio::dispatch(commands->executor(), [server = commands, line = pushes, events = watches,
                                          queue = waits, proofs = confirmed] {
      if (proofs) proofs->close();
      queue->close();
      events->close();
      line->close();
      server->close();
    });
  }

  std::shared_ptr<redis::connection> commands;
  std::shared_ptr<redis::subscription_connection> pushes;
  std::shared_ptr<redis::cache_watches> watches;
  std::shared_ptr<redis::grant_subscriptions> grants;
  std::shared_ptr<redis::lease_queues> waits;
  std::shared_ptr<redis::confirmation> confirmed;  // null unless the URL asks for it
};

template <class Port>
struct port_and_connections {
  std::shared_ptr<connections> shared;
  std::shared_ptr<Port> port;  // goes first
};

// A pointer to the port that keeps the connections open.
template <class Port>
std::shared_ptr<Port> tied(std::shared_ptr<connections> shared, std::shared_ptr<Port> port) {
  Port* const plain = port.get();
  auto both = std::make_shared<port_and_connections<Port>>(
      port_and_connections<Port>{std::move(shared), std::move(port)});
  return std::shared_ptr<Port>(std::move(both), plain);
}

// A dialect is the lock alone: its values would have no claims, so there are none.
std::shared_ptr<lease_store> make_leases(connections const& shared, redis::settings const& how) {
  switch (how.speaks) {
    case redis::dialect::plain:
      return redis::make_plain_dialect(shared.commands);
    case redis::dialect::getset:
      return redis::make_getset_dialect(shared.commands);
    case redis::dialect::herdlock:
      break;
  }
  auto leases = redis::make_lease_port(shared.commands, shared.waits);
  if (!shared.confirmed) return leases;
  return redis::make_confirmed_leases(std::move(leases), shared.confirmed, how);
}

}  // namespace

result<backend> open_redis(store_url url, asio::any_io_executor executor) {
  auto how = redis::parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  if (auto const tls = stores::make_tls(how->tls, how->display_name); tls.has_error())
    return tls.error();
  if (how->speaks != redis::dialect::herdlock && how->durable.on()) {
    return make_failure(errc::invalid_url, "store URL " + how->display_name +
                                               ": wait_replicas and quarantine are for "
                                               "dialect=herdlock; leave one of them out");
  }
  if (!how->sentinels.empty()) how->resolver = redis::make_sentinel_resolver(executor, *how);
  backend made;
  made.warnings = std::make_shared<store_warnings>();
  auto shared = std::make_shared<connections>(executor, *how, made.warnings);
  made.leases = tied(shared, make_leases(*shared, *how));
  if (how->speaks == redis::dialect::herdlock) {
    made.values = tied(shared, redis::make_cache_port(shared->commands, shared->watches));
  }
  made.traits.fences = how->speaks == redis::dialect::herdlock;
  made.traits.across_processes = true;
  made.traits.across_hosts = how->unix_path.empty();
  made.traits.queues = how->speaks == redis::dialect::herdlock;
  made.traits.pushes_fills = made.values != nullptr;
  made.display_name = how->display_name;
  asio::post(executor, [server = shared->commands, waits = shared->confirmed] {
    server->open();
    if (waits) waits->open();
  });
  return made;
}

}  // namespace herdlock
