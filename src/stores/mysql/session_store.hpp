// mode=row and mode=named: a lease is a lock that the server keeps for a session.
#pragma once

#include "stores/mysql/resource_queue.hpp"

namespace herdlock::mysql {

std::shared_ptr<lease_store> make_session_store(std::shared_ptr<session_state> state);

}  // namespace herdlock::mysql
