// What is wrong with a PostgreSQL server for locks.
#pragma once

#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// See examine_store().
result<examination> examine_postgres(store_url url);

}  // namespace herdlock
