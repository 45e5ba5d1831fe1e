// The modes whose locks belong to a session: advisory and row.
#pragma once

#include <herdlock/backend.hpp>

#include "stores/postgres/settings.hpp"

namespace herdlock::postgres {

backend open_sessions(settings what, asio::any_io_executor executor);

}  // namespace herdlock::postgres
