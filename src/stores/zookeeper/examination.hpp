// What is wrong with a ZooKeeper ensemble for locks.
#pragma once

#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// See examine_store().
result<examination> examine_zookeeper(store_url url);

}  // namespace herdlock
