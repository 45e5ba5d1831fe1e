// Who tells whether a server belongs to what was opened, when the URL itself does not.
#pragma once

#include <string>

#include <herdlock/error.hpp>
#include "stores/redis/client/reply.hpp"

namespace herdlock::redis {

/// Asked each time a connection to a cluster's node comes up, before a command is sent over it: the
/// address may have been given to somebody else meanwhile. All members on the executor.
class membership {
 public:
  virtual ~membership() = default;
  /// `slots` is what the node at `address` says to CLUSTER SLOTS. Without code: it is one of ours,
  /// or nobody can tell.
  virtual failure check(reply const& slots, std::string const& address) = 0;
};

}  // namespace herdlock::redis
