// The sources of a survey. Each blocks, over connections of its own, which are closed when it
// returns, or when on_progress throws.
#pragma once

#include <herdlock/survey.hpp>
#include "stores/redis/hot/survey_servers.hpp"

namespace herdlock::redis {

/// What processes report to each other (exchange/report_exchange.hpp).
result<survey> survey_clients(surveyed_servers const& servers, survey_request const& request);
/// MONITOR, of all servers at the same time.
result<survey> survey_monitor(surveyed_servers const& servers, survey_request const& request);
/// SCAN and OBJECT FREQ, of one server after the other.
result<survey> survey_lfu(surveyed_servers const& servers, survey_request const& request);
/// HOTKEYS of Redis 8.6 or Valkey 9.2: see hotkeys_reply.hpp for what it was tested against.
result<survey> survey_hotkeys(surveyed_servers const& servers, survey_request const& request);

}  // namespace herdlock::redis
