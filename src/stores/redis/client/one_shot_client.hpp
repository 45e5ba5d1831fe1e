// Asks a server once: connects, asks, goes. Blocks, with an event loop of its own.
#pragma once

#include <string>
#include <vector>

#include "stores/redis/client/reply.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

using command_words = std::vector<std::string>;

/// As many replies as commands; a failure when the server cannot be reached, or does not answer in
/// twice the command timeout.
result<std::vector<reply>> ask_once(settings const& how,
                                    std::vector<command_words> const& commands);

}  // namespace herdlock::redis
