// `dialect=getset`: the lock of SETNX, a Unix time and GETSET that clients used before Redis could
// set a key with a ttl in one step. The algorithm, its values and its holes:
// algo/getset_machine.hpp of this library's pure part. Only SETNX, GET, GETSET and DEL are sent, to
// one key; never a script.
//
// It is the one store that compares a wall clock (this machine's with the holder's), and an
// operation takes one to six commands, within two command timeouts.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

std::shared_ptr<lease_store> make_getset_dialect(std::shared_ptr<connection> commands);

}  // namespace herdlock::redis
