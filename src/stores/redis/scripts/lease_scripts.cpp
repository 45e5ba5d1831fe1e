#include "stores/redis/scripts/lease_scripts.hpp"

#include "stores/redis/script_texts.hpp"

namespace herdlock::redis {

lease_script_set const& lease_scripts() {
  static lease_script_set const set{
      {lua::acquire, "3"}, {lua::enter, "3"},   {lua::renew, "1"},         {lua::release, "4"},
      {lua::leave, "3"},   {lua::inspect, "3"}, {lua::force_release, "3"}, {lua::many, ""},
      {lua::list, "0"},    {lua::pass_on, "1"}, {lua::trust, "1"},         {lua::held, "0"}};
  return set;
}

}  // namespace herdlock::redis
