// What an examination looks for at one server.
#pragma once

#include <herdlock/examination.hpp>
#include <optional>

#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/client/server_facts.hpp"
#include "stores/redis/examination/rights.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// Nothing when the server cannot be reached or refuses us: that is a finding.
std::optional<server_facts> check_server(settings const& how, access_use use, examination& into);

}  // namespace herdlock::redis
