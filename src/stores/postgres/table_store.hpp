// The table mode: leases are rows of a table, waiters queue in another.
#pragma once

#include <herdlock/backend.hpp>

#include "stores/postgres/settings.hpp"

namespace herdlock::postgres {

backend open_table(settings what, asio::any_io_executor executor);

}  // namespace herdlock::postgres
