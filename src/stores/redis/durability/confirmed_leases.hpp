// Leases that count only when a failover does not lose them: `wait_replicas` and `quarantine`.
#pragma once

#include <memory>

#include "stores/redis/durability/confirmation.hpp"

namespace herdlock::redis {

/// Around another lease store. A grant that is not confirmed (confirmation.hpp) is a failure with
/// errc::unavailable after which, as after each such failure, the caller takes back what may have
/// been granted. It is not released here: a release whose answer is lost could arrive after the
/// same owner's next attempt and take that one away. A renewal that is not confirmed is a failure,
/// too, so that the lease is not thought to be valid for longer than the replicas know.
std::shared_ptr<lease_store> make_confirmed_leases(std::shared_ptr<lease_store> inner,
                                                   std::shared_ptr<confirmation> confirmed,
                                                   settings const& how);

}  // namespace herdlock::redis
