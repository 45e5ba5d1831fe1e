#include "stores/redis/redis_store.hpp"

#include "stores/redis/cache_port.hpp"
#include "stores/redis/getset_dialect.hpp"
#include "stores/redis/lease_port.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/plain_dialect.hpp"
#include "stores/redis/push_connection.hpp"
#include "stores/redis/tls_context.hpp"
#include "stores/redis/wait_hub.hpp"
#include "stores/redis/watch_hub.hpp"

namespace herdlock {
namespace {

// What both ports share; closes with the last of them.
class connections {
 public:
  explicit connections(asio::any_io_executor const& executor, redis::settings const& how)
      : commands(std::make_shared<redis::link>(executor, how)),
        pushes(
            std::make_shared<redis::push_connection>(std::make_shared<redis::link>(executor, how))),
        watches(std::make_shared<redis::watch_hub>(commands, pushes)),
        waits(std::make_shared<redis::wait_hub>(commands, pushes)) {
    pushes->attach(watches);
    pushes->attach(waits);
  }
  connections(connections const&) = delete;
  connections& operator=(connections const&) = delete;

  // From whatever thread: the closing itself happens on the executor.
  ~connections() {
    asio::dispatch(commands->executor(),
                   [link = commands, line = pushes, hub = watches, queue = waits] {
                     queue->close();
                     hub->close();
                     line->close();
                     link->close();
                   });
  }

  std::shared_ptr<redis::link> commands;
  std::shared_ptr<redis::push_connection> pushes;
  std::shared_ptr<redis::watch_hub> watches;
  std::shared_ptr<redis::wait_hub> waits;
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
std::shared_ptr<lease_store> make_dialect(redis::dialect which,
                                          std::shared_ptr<redis::link> commands) {
  if (which == redis::dialect::plain) return redis::make_plain_dialect(std::move(commands));
  return redis::make_getset_dialect(std::move(commands));
}

}  // namespace

result<backend> open_redis(store_url url, asio::any_io_executor executor) {
  auto how = redis::parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  if (auto const tls = redis::make_tls(*how); tls.has_error()) return tls.error();
  auto shared = std::make_shared<connections>(executor, *how);
  backend made;
  if (how->speaks == redis::dialect::herdlock) {
    made.leases = tied(shared, redis::make_lease_port(shared->commands, shared->waits));
    made.values = tied(shared, redis::make_cache_port(shared->commands, shared->watches));
  } else {
    made.leases = tied(shared, make_dialect(how->speaks, shared->commands));
    made.traits.fences = false;
  }
  made.traits.across_processes = true;
  made.traits.across_hosts = how->unix_path.empty();
  made.traits.queues = how->speaks == redis::dialect::herdlock;
  made.traits.pushes_fills = made.values != nullptr;
  made.display_name = how->display_name;
  asio::post(executor, [link = shared->commands] { link->open(); });
  return made;
}

}  // namespace herdlock
