// What an examination looks for at one server.
#pragma once

#include <herdlock/examination.hpp>
#include <optional>

#include "stores/redis/server_info.hpp"
#include "stores/redis/settings.hpp"
#include "stores/redis/visit.hpp"

namespace herdlock::redis {

/// One of each that locks and the cache send, or that their scripts call.
std::vector<question_words> commands_in_use();

/// Nothing when the server cannot be reached or refuses us: that is a finding.
std::optional<server_facts> check_server(settings const& how, examination& into);

}  // namespace herdlock::redis
