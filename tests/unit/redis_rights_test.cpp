// The rights that doctor asks for are those of the commands that are sent.
#include <gtest/gtest.h>

#include <set>

#include "stores/redis/examination/examine_server.hpp"
#include "stores/redis/scripts/cache_scripts.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"

namespace herdlock::redis {
namespace {

using names = std::set<std::string>;

// Behind each `redis.call('` and `redis.pcall('`.
void add_commands_of(std::string_view lua, names& to) {
  constexpr std::string_view call = "call('";
  for (auto at = lua.find(call); at != lua.npos; at = lua.find(call, at)) {
    at += call.size();
    to.emplace(lua.substr(at, lua.find('\'', at) - at));
  }
}

TEST(redis_rights, DoctorAsksForThoseOfTheCommandsThatScriptsCallAndThatAreSent) {
  names used{"EVAL", "EVALSHA", "GET", "HGETALL", "PUBLISH", "SUBSCRIBE", "TIME"};
  auto const& leases = lease_scripts();
  auto const& values = cache_scripts();
  for (auto const* one : {&leases.acquire, &leases.enter, &leases.renew, &leases.release,
                          &leases.leave, &leases.inspect, &leases.force_release, &leases.many,
                          &values.claim, &values.look, &values.extend, &values.fill, &values.fail,
                          &values.put, &values.invalidate, &values.expire}) {
    add_commands_of(one->source, used);
  }
  names asked;
  for (auto const& one : commands_in_use()) asked.insert(one.front());
  EXPECT_EQ(asked, used);
}

}  // namespace
}  // namespace herdlock::redis
