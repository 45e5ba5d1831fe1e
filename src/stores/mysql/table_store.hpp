// mode=table: a lease is a row with an expiry by the server's clock.
#pragma once

#include "stores/mysql/store_state.hpp"

namespace herdlock::mysql {

std::shared_ptr<lease_store> make_table_store(std::shared_ptr<store_state> state);

}  // namespace herdlock::mysql
