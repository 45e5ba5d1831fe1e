// `dialect=plain`: the lock that Redis's own documentation describes, and nothing else.
//
//   take      SET key owner NX PX ttl
//   renew     if GET key == owner then PEXPIRE key ttl
//   release   if GET key == owner then DEL key
//
// One key (`prefix` + the resource's name), one string, each step atomic at the server. No side key
// is read or written, so there are no fencing tokens and no queue. Any client that takes with `NX`
// and compares before it deletes excludes us and is excluded; a client that deletes without
// comparing breaks the lock for all. A ttl that another client set in whole seconds (EX) is a ttl
// like any other. A key without one, which some clients write, is a lock for ever: busy with an
// unknown time left (0), until its holder or an operator (force_release) removes it.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

std::shared_ptr<lease_store> make_plain_dialect(std::shared_ptr<connection> commands);

}  // namespace herdlock::redis
