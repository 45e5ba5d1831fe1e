// What is wrong with a file for locks.
#pragma once

#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// See examine_store().
result<examination> examine_sqlite(store_url url);

}  // namespace herdlock
