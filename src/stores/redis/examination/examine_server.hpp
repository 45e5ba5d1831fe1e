// What an examination looks for at one server.
#pragma once

#include <herdlock/examination.hpp>
#include <optional>

#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/client/server_facts.hpp"
#include "stores/redis/examination/rights.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// What helps against a server that has forgotten its leases after a restart.
inline constexpr char const* appendonly_or_quarantine =
    "set appendonly yes, or quarantine=on in the store URL";

/// Nothing when the server cannot be reached or refuses us: that is a finding. Without
/// `against_forgetting` the URL has seen to it.
std::optional<server_facts> check_server(settings const& how, access_use use, examination& into,
                                         char const* against_forgetting = appendonly_or_quarantine);

}  // namespace herdlock::redis
