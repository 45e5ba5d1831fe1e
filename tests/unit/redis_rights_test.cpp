// The rights that doctor asks for are those of the commands that are sent, and those that the pages
// of the stores print.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "stores/redis/examination/rights.hpp"
#include "stores/redis/scripts/cache_scripts.hpp"
#include "stores/redis/scripts/fleet_scripts.hpp"
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

right_group const& group_of(std::vector<right_group> const& all, std::string_view check) {
  for (auto const& one : all) {
    if (one.check == check) return one;
  }
  ADD_FAILURE() << "no group " << check;
  return all.front();
}

void add_asked(right_group const& group, names& to) {
  for (auto const& one : group.commands) to.insert(one.front());
}

TEST(redis_rights, DoctorAsksForThoseOfTheCommandsThatScriptsCallAndThatAreSent) {
  names used{"EVAL", "EVALSHA", "GET", "HGETALL", "PUBLISH", "SUBSCRIBE", "TIME", "UNSUBSCRIBE"};
  auto const& leases = lease_scripts();
  auto const& values = cache_scripts();
  for (auto const* one : {&leases.acquire, &leases.enter, &leases.renew, &leases.release,
                          &leases.leave, &leases.inspect, &leases.force_release, &leases.many,
                          &values.claim, &values.look, &values.extend, &values.fill, &values.fail,
                          &values.put, &values.invalidate, &values.expire}) {
    add_commands_of(one->source, used);
  }
  names asked;
  add_asked(rights_of(access_use::leases_and_values, "k").front(), asked);
  EXPECT_EQ(asked, used);
}

TEST(redis_rights, WhatBelongsToOneUseIsAskedForInAGroupOfItsOwn) {
  auto const all = rights_of(access_use::leases_and_values, "k");
  names asked, used;
  for (auto const& one : all) add_asked(one, asked);
  add_commands_of(fleet_scripts().prolong.source, used);
  add_commands_of(fleet_scripts().report.source, used);
  add_commands_of(fleet_scripts().rules.source, used);
  add_commands_of(lease_scripts().list.source, used);
  for (auto const& one : used) EXPECT_TRUE(asked.contains(one)) << one;
  names keep;
  add_asked(group_of(all, "redis.keep"), keep);
  EXPECT_EQ(keep, (names{"HEXISTS", "STRLEN", "PEXPIREAT", "PEXPIRETIME"}));
}

TEST(redis_rights, ARuleNamesASubcommandWhereItIsPermittedForItself) {
  EXPECT_EQ(rules_of({{"GET", "k"}, {"CLIENT", "TRACKING", "ON"}, {"PUBSUB", "NUMSUB", "c"}}),
            "+get +client|tracking +pubsub|numsub");
  EXPECT_EQ(shown({"CLIENT", "TRACKING", "ON"}), "CLIENT TRACKING");
  EXPECT_EQ(shown({"GET", "k"}), "GET");
}

// The words of rules that permit commands.
void add_rules(std::string const& line, names& to) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.front() == '+') to.insert(word);
  }
}

names printed(std::string const& page, std::string const& user) {
  std::ifstream from(std::string(DOCS_FOLDER) + "/stores/" + page);
  names found;
  for (std::string line; std::getline(from, line);) {
    if (line.starts_with("ACL SETUSER " + user + " ")) add_rules(line, found);
  }
  return found;
}

names asked_for(access_use use) {
  names found{"+acl|whoami", "+acl|dryrun"};  // doctor's own
  for (auto const& one : rights_of(use, "k")) add_rules(rules_of(one.commands), found);
  return found;
}

TEST(redis_rights, ThePagesPrintThoseThatDoctorAsksFor) {
  auto of_redis = asked_for(access_use::leases_and_values);
  add_rules(rules_of(rights_to_confirm().commands), of_redis);
  EXPECT_EQ(printed("redis.md", "app"), of_redis);
  EXPECT_EQ(printed("redlock.md", "app"), asked_for(access_use::redlock));
  EXPECT_EQ(printed("redis-dialects.md", "plain"), asked_for(access_use::plain_locks));
  EXPECT_EQ(printed("redis-dialects.md", "getset"), asked_for(access_use::getset_locks));
}

}  // namespace
}  // namespace herdlock::redis
