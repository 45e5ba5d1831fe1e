// mode=table: a lease is a row with an expiry by the server's clock.
#pragma once

#include "stores/mysql/command_tools.hpp"

namespace herdlock::mysql {

std::shared_ptr<lease_store> make_table_leases(std::shared_ptr<engine> with);

}  // namespace herdlock::mysql
