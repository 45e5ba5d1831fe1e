// What the ports of a store share: its servers, what they push, and who waits.
#pragma once

#include <memory>
#include <vector>

#include <herdlock/backend.hpp>
#include "stores/redis/cache/cache_watches.hpp"
#include "stores/redis/durability/confirmation.hpp"
#include "stores/redis/exchange/report_exchange.hpp"
#include "stores/redis/exchange/rules_exchange.hpp"
#include "stores/redis/near/tracking.hpp"
#include "stores/redis/queue/lease_queues.hpp"
#include "stores/redis/same_server.hpp"

namespace herdlock::redis {

/// Closes with the last pointer to it. `Servers` is a connection or a cluster.
template <class Servers>
class store_parts {
 public:
  /// `wires` makes the connections of the reports.
  store_parts(std::shared_ptr<Servers> to, std::shared_ptr<store_warnings> found,
              report_exchange::maker wires)
      : commands(std::move(to)),
        warnings(std::move(found)),
        pushes(commands->make_event_connection()),
        watches(std::make_shared<cache_watches>(commands, pushes, warnings)),
        grants(std::make_shared<grant_subscriptions>()),
        queues(std::make_shared<lease_queues>(commands, grants)),
        reports(std::make_shared<report_exchange>(std::move(wires))),
        rules(std::make_shared<rules_exchange>(commands, pushes)) {
    pushes->attach(watches);
    pushes->attach(rules);
  }
  store_parts(store_parts const&) = delete;
  store_parts& operator=(store_parts const&) = delete;

  // From whatever thread: the closing itself happens on the executor.
  ~store_parts() {
    asio::dispatch(commands->executor(),
                   [servers = commands, events = pushes, waits = watches, leases = queues,
                    told = reports, ruled = rules, proofs = confirmed] {
                     if (proofs) proofs->close();
                     leases->close();
                     waits->close();
                     told->close();
                     ruled->close();
                     events->close();
                     servers->close();
                   });
  }

  /// Of a single server: commands and pushes lead to the same one. Before they are opened.
  void tie_together() { ties_ = ties_of(commands, pushes, warnings); }

  std::shared_ptr<Servers> commands;
  std::shared_ptr<store_warnings> warnings;
  std::shared_ptr<connection> pushes;
  std::shared_ptr<cache_watches> watches;
  std::shared_ptr<grant_subscriptions> grants;
  std::shared_ptr<lease_queues> queues;
  std::shared_ptr<report_exchange> reports;
  std::shared_ptr<rules_exchange> rules;
  std::shared_ptr<confirmation> confirmed;  // null unless the URL asks for it
  std::shared_ptr<lease_store> leases;
  std::shared_ptr<cache_store> values;      // null for a dialect: leases only
  std::shared_ptr<tracking_store> tracked;  // null without values

 private:
  std::vector<std::shared_ptr<connection_listener>> ties_;
};

/// Of parts that have their ports. Each of its ports keeps all parts.
template <class Servers>
backend backend_of(std::shared_ptr<store_parts<Servers>> const& parts) {
  auto const& how = parts->commands->how();
  bool const ours = parts->values != nullptr;
  backend made{std::shared_ptr<lease_store>(parts, parts->leases.get()),
               nullptr,
               {.queues = ours,
                .pushes_fills = ours,
                .across_processes = true,
                .across_hosts = how.unix_path.empty(),
                .one_keyspace = true,
                .fences = ours},
               how.display_name,
               parts->warnings};
  if (ours) made.values = std::shared_ptr<cache_store>(parts, parts->values.get());
  if (ours) made.tracking = std::shared_ptr<tracking_store>(parts, parts->tracked.get());
  if (ours) made.reports = std::shared_ptr<report_store>(parts, parts->reports.get());
  if (ours) made.rules = std::shared_ptr<rules_store>(parts, parts->rules.get());
  return made;
}

}  // namespace herdlock::redis
