// mode=row and mode=named: a lease is a lock that the server keeps for a session.
#pragma once

#include "stores/mysql/session_protocol.hpp"

namespace herdlock::mysql {

std::shared_ptr<lease_store> make_session_leases(std::shared_ptr<engine> with,
                                                 std::unique_ptr<session_protocol> protocol);

}  // namespace herdlock::mysql
