#include "stores/redis/redlock/redlock_store.hpp"

#include "stores/common/tls_source.hpp"
#include "stores/redis/redlock/redlock_ops.hpp"

namespace herdlock {
namespace {

std::shared_ptr<store_warnings> warnings_for(redis::redlock_settings const& how) {
  auto warnings = std::make_shared<store_warnings>();
  auto const nodes = how.nodes.size();
  if (nodes % 2 == 0) {
    warnings->add(how.display_name + ": " + std::to_string(nodes) +
                  " nodes stand the loss of no more than " + std::to_string(nodes - 1) +
                  " do; name an odd number");
  }
  if (how.restart_delay.count() == 0) {
    warnings->add(how.display_name +
                  ": with restart_delay=0 nodes that are restarted without their data may let a "
                  "second holder in; give it the longest ttl in use");
  }
  for (auto const& one : how.nodes) {
    if (one.tls.source) one.tls.source->tell(warnings);
  }
  return warnings;
}

}  // namespace

result<backend> open_redlock(store_url url, asio::any_io_executor executor) {
  auto how = redis::parse_redlock_settings(std::move(url));
  if (how.has_error()) return how.error();
  auto const warnings = warnings_for(*how);
  auto const core = std::make_shared<redis::redlock_core>(executor, *how, warnings);
  backend made;
  made.leases = redis::make_redlock_port(core);
  made.traits.across_processes = true;
  made.traits.across_hosts = true;
  made.display_name = how->display_name;
  made.warnings = warnings;
  asio::post(executor, [core] { core->open(); });
  return made;
}

}  // namespace herdlock
