// The Lua scripts by which processes tell each other what they know, and do what they are told.
#pragma once

#include "stores/redis/scripts/script.hpp"

namespace herdlock::redis {

struct fleet_script_set {
  script report, rules, prolong;
};

fleet_script_set const& fleet_scripts();

}  // namespace herdlock::redis
