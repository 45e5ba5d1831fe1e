// What the sentinels say of their master, asked from outside of an event loop. Blocks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "stores/redis/sentinel/master_vote.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

struct sentinel_answers {
  master_vote vote;
  std::size_t agree = 0;   ///< that could bring about a failover
  std::string last_error;  ///< of the last one that could not; may be empty

  std::optional<stores::server_address> master() const { return vote.winner(); }
};

/// Asks each sentinel of the settings.
sentinel_answers ask_sentinels(settings const& how);

}  // namespace herdlock::redis
