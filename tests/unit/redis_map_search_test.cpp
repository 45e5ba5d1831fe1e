// How a cluster is searched for its map, and who is a stranger in it.
#include <gtest/gtest.h>

#include "stores/redis/cluster/cluster_members.hpp"
#include "stores/redis/cluster/map_search.hpp"

namespace herdlock::redis {
namespace {

using nodes = std::vector<node_address>;

// ---------------------------------------------------------------------------------- the search

TEST(RedisMapSearch, ARoundAsksAFewAndInTimeEachOnce) {
  nodes all;
  for (std::uint16_t i = 0; i < 12; ++i) all.push_back({"h", i});
  map_search search;
  EXPECT_TRUE(search.is_new());
  nodes asked;
  for (std::size_t const size : {5U, 5U, 2U}) {
    auto const round = search.next_round(all);
    EXPECT_EQ(round.size(), size);
    EXPECT_EQ(search.ends_with_round(), size == 2);
    asked.insert(asked.end(), round.begin(), round.end());
    std::ranges::reverse(all);  // whatever their order is by then
  }
  EXPECT_FALSE(search.is_new());
  EXPECT_EQ(asked.size(), all.size());
  EXPECT_EQ(std::set<node_address>(asked.begin(), asked.end()).size(), all.size());
}

TEST(RedisMapSearch, AsManyAsARoundAsksAreAskedInOne) {
  nodes all;
  for (std::uint16_t i = 0; i < max_nodes_of_round; ++i) all.push_back({"h", i});
  map_search search;
  EXPECT_EQ(search.next_round(all), all);
  EXPECT_TRUE(search.ends_with_round());
}

TEST(RedisMapSearch, KeepsTheBestAndTheMostTellingFailureOverItsRounds) {
  nodes all;
  for (std::uint16_t i = 0; i < 12; ++i) all.push_back({"h", i});
  map_search search;
  search.next_round(all);
  search.keep({.map = {}, .view = {.ok = false, .epoch = 7}});
  search.note(make_failure(errc::access_denied, "no"));
  search.next_round(all);
  search.note(make_failure(errc::unavailable, "silent"));
  ASSERT_TRUE(search.best().has_value());
  EXPECT_EQ(search.best()->view.epoch, 7U);
  EXPECT_EQ(search.why(), errc::access_denied);
}

// ---------------------------------------------------------------------------------- strangers

// A list of one range, of a master and replicas with these ids.
reply slots_of(std::vector<std::string> const& ids) {
  reply made;
  made.add(reply_kind::list, 1, "");
  made.add(reply_kind::list, 2 + ids.size(), "");
  made.add(reply_kind::number, 0, "0");
  made.add(reply_kind::number, 0, "16383");
  for (auto const& id : ids) {
    made.add(reply_kind::list, 3, "");
    made.add(reply_kind::text, 0, "h");
    made.add(reply_kind::number, 0, "7000");
    made.add(reply_kind::text, 0, id);
  }
  return made;
}

cluster_map map_of(std::vector<std::string> const& ids) {
  return cluster_map::parse(slots_of(ids), {"h", 7000}).value();
}

struct RedisClusterMembers : testing::Test {
  std::shared_ptr<store_warnings> warnings = std::make_shared<store_warnings>();
  cluster_members members{"redis+cluster://h", warnings};

  bool is_stranger(std::vector<std::string> const& ids) {
    return members.check(slots_of(ids), "h:7000").code == errc::unavailable;
  }
};

TEST_F(RedisClusterMembers, AreKnownByTheIdsOfMastersAndReplicas) {
  EXPECT_EQ(map_of({"m", "r1", "r2"}).ids(), (node_ids{"m", "r1", "r2"}));
  members.now_in_use(map_of({"m", "r"}));
  EXPECT_FALSE(is_stranger({"m"}));
  EXPECT_FALSE(is_stranger({"new", "r"})) << "a replica that took over knows one of ours";
  EXPECT_TRUE(is_stranger({"x", "y"}));
}

TEST_F(RedisClusterMembers, NobodyIsAStrangerBeforeAMapIsInUse) {
  EXPECT_FALSE(is_stranger({"x"}));
}

TEST_F(RedisClusterMembers, TheMapInUseDecidesAndNoEarlierOne) {
  members.now_in_use(map_of({"a", "b"}));
  members.now_in_use(map_of({"b", "c"}));
  EXPECT_TRUE(is_stranger({"a"}));
  EXPECT_FALSE(is_stranger({"c"}));
}

// It cannot serve anything yet, or says so itself when it is asked for the map.
TEST_F(RedisClusterMembers, OneThatHasNoMapIsNotRefused) {
  members.now_in_use(map_of({"a"}));
  reply none;
  none.add(reply_kind::list, 0, "");
  EXPECT_FALSE(members.check(none, "h:1").code);
  reply refusal;
  refusal.add(reply_kind::error, 0, "NOPERM no");
  EXPECT_FALSE(members.check(refusal, "h:1").code);
  EXPECT_FALSE(members.check(reply{}, "h:1").code);
}

TEST_F(RedisClusterMembers, GarbledIdsAreNoProof) {
  for (auto const& id : {std::string(), std::string("a b"), std::string("a\0b", 3),
                         std::string("a\x80"), std::string(129, 'a')}) {
    EXPECT_TRUE(map_of({id}).ids().empty());
    EXPECT_EQ(map_of({id, "good"}).ids().size(), 1U);
    members.now_in_use(map_of({"good"}));
    EXPECT_TRUE(is_stranger({id}));
    EXPECT_FALSE(is_stranger({id, "good"}));
  }
  members.now_in_use(map_of({""}));  // of who has none nobody can tell
  EXPECT_FALSE(is_stranger({"x"}));
}

TEST_F(RedisClusterMembers, AStrangerIsNamedAndWarnedOfOnce) {
  members.now_in_use(map_of({"a", "b"}));
  for (int i = 0; i < 3; ++i) members.check(slots_of({"x"}), "h:7000");
  auto const said = members.check(slots_of({"x"}), "h:7000").message;
  for (std::string_view const word :
       {"redis+cluster://h", "h:7000", "another cluster", "none of the 2 nodes", "again"}) {
    EXPECT_NE(said.find(word), std::string::npos) << said;
  }
  EXPECT_EQ(warnings->list(), std::vector<std::string>{said});
}

TEST_F(RedisClusterMembers, AStateThatMayNotBeSeenIsWarnedOf) {
  members.warn_of_hidden_state("NOPERM this user has no permissions", "h:7000");
  ASSERT_EQ(warnings->list().size(), 1U);
  EXPECT_NE(warnings->list()[0].find("+cluster|info"), std::string::npos);
}

TEST(RedisClusterMap, KeepsTheIdsOfAsManyNodesAsItMayAndNotOneMore) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i <= max_node_ids; ++i) ids.push_back("n" + std::to_string(i));
  EXPECT_EQ(map_of(ids).ids().size(), max_node_ids);
  ids.pop_back();
  EXPECT_EQ(map_of(ids).ids().size(), max_node_ids);
}

TEST(RedisClusterMap, AnIdThatStandsAtMoreRangesIsKeptOnce) {
  reply made;
  made.add(reply_kind::list, 2, "");
  for (std::string const slot : {"0", "5"}) {
    made.add(reply_kind::list, 3, "");
    made.add(reply_kind::number, 0, slot);
    made.add(reply_kind::number, 0, slot);
    made.add(reply_kind::list, 4, "");
    made.add(reply_kind::text, 0, "h");
    made.add(reply_kind::number, 0, "1");
    made.add(reply_kind::text, 0, "id");
    made.add(reply_kind::list, 0, "");
  }
  EXPECT_EQ(cluster_map::parse(made, {}).value().ids(), node_ids{"id"});
}

}  // namespace
}  // namespace herdlock::redis
