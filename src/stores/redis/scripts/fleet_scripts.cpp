#include "stores/redis/scripts/fleet_scripts.hpp"

#include "stores/redis/script_texts.hpp"

namespace herdlock::redis {

fleet_script_set const& fleet_scripts() {
  static fleet_script_set const set{
      {lua::fleet_report, "2"}, {lua::fleet_rules, "1"}, {lua::cache_prolong, "2"}};
  return set;
}

}  // namespace herdlock::redis
