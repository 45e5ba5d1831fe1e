// One short visit to a server: connect, ask, go. Blocks, with an event loop of its own.
#pragma once

#include <string>
#include <vector>

#include "stores/redis/client/reply.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

using question_words = std::vector<std::string>;

/// As many replies as questions; a failure when the server cannot be reached, or does not answer in
/// twice the command timeout.
result<std::vector<reply>> visit(settings const& how, std::vector<question_words> const& questions);

/// A sentinel of theirs, with its own account.
settings sentinel_at(settings const& how, host_and_port const& at);

}  // namespace herdlock::redis
