// What is wrong with a MariaDB or MySQL server for locks.
#pragma once

#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// See examine_store().
result<examination> examine_mysql(store_url url);

}  // namespace herdlock
