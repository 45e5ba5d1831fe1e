// What holds a lease in the server: a store for each mode.
#pragma once

#include <herdlock/backend.hpp>

#include "stores/common/pending_operations.hpp"
#include "stores/postgres/settings.hpp"

namespace herdlock::postgres {

/// The table mode: leases are rows of a table, waiters queue in another. `found` is told where.
std::shared_ptr<lease_store> make_table_store(settings what,
                                              std::shared_ptr<stores::pending_operations> pending,
                                              std::shared_ptr<store_warnings> found);

/// The modes whose locks belong to a session: advisory and row.
std::shared_ptr<lease_store> make_session_store(settings what,
                                                std::shared_ptr<stores::pending_operations> pending,
                                                std::shared_ptr<store_warnings> found);

}  // namespace herdlock::postgres
