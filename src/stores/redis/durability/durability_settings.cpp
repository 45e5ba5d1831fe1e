#include "stores/redis/durability/durability_settings.hpp"

#include <algorithm>

namespace herdlock::redis {
namespace {

// Beyond it the health check, whose PING waits behind the WAIT, would take the server for dead.
constexpr milliseconds max_wait_timeout{5000};

void take_replicas(durability_settings& into, stores::option_reader& in, milliseconds timeout) {
  into.replicas = in.count<int>("wait_replicas");
  if (into.replicas == 0 && in.given("wait_timeout")) {
    in.refuse("wait_timeout without wait_replicas; give both or none");
  }
  auto const longest = std::min<milliseconds>(timeout / 2, max_wait_timeout);
  into.wait = in.duration("wait_timeout", longest);
  // Half: the answer must have come when the command itself is given up, and one round may have to
  // wait for the one before it.
  if (into.wait > longest) {
    in.refuse("wait_timeout must be from 1ms to half of the timeout, and at most 5s: here " +
              std::to_string(longest.count()) + " ms");
  }
}

}  // namespace

durability_settings take_durability(stores::option_reader& in, milliseconds timeout) {
  durability_settings wanted;
  take_replicas(wanted, in, timeout);
  bool const quarantine = in.chosen("quarantine") == 1;
  if (!quarantine && in.given("quarantine_ttl")) {
    in.refuse("quarantine_ttl without quarantine=on; give both or none");
  }
  auto const ttl = in.duration("quarantine_ttl");
  if (quarantine) wanted.quarantine = ttl;
  return wanted;
}

}  // namespace herdlock::redis
