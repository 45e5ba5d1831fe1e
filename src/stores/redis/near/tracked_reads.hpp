// Reads whose values may be kept in the process.
#pragma once

#include <memory>

#include <herdlock/tracking_store.hpp>
#include "stores/redis/client/router.hpp"
#include "stores/redis/near/tracking.hpp"

namespace herdlock::redis {

/// `slots`: null for one server.
std::shared_ptr<tracking_store> make_tracked_reads(std::shared_ptr<router> commands,
                                                   std::shared_ptr<tracking> links,
                                                   tracking_store::slot_function slots);

}  // namespace herdlock::redis
