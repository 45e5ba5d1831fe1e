// What is wrong with Redis servers for locks.
#pragma once

#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// See examine_store(). A single server, or the one that Sentinel names.
result<examination> examine_redis(store_url url);
/// Each node that the URL names.
result<examination> examine_redlock(store_url url);
result<examination> examine_redis_cluster(store_url url);

}  // namespace herdlock
