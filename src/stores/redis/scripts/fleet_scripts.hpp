// The Lua scripts by which processes tell each other what they know.
#pragma once

#include "stores/redis/scripts/script.hpp"

namespace herdlock::redis {

struct fleet_script_set {
  script report, reports, rules;
};

fleet_script_set const& fleet_scripts();

}  // namespace herdlock::redis
