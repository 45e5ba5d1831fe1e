// What the session modes share beside the state of all modes.
#pragma once

#include "stores/common/lease_ends.hpp"
#include "stores/mysql/session_protocol.hpp"

namespace herdlock::mysql {

class resource_queue;

/// Queues and tasks refer to it; who keeps a queue keeps it, too.
struct session_state : store_state {
  using store_state::store_state;

  std::unique_ptr<session_protocol> protocol;
  stores::lease_ends ends{pending->executor()};
  std::map<std::string, std::shared_ptr<resource_queue>, std::less<>> queues;
  bool server_checked = false;
};

}  // namespace herdlock::mysql
