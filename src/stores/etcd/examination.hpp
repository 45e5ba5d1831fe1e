// What is wrong with an etcd cluster for locks.
#pragma once

#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// See examine_store().
result<examination> examine_etcd(store_url url);

}  // namespace herdlock
