// Which map of a cluster counts, and who is asked last.
#include <gtest/gtest.h>

#include "stores/redis/cluster/map_ranking.hpp"

namespace herdlock::redis {
namespace {

using node_address = map_ranking::node_address;
using nodes = std::vector<node_address>;

node_address const a{"a", 1};
node_address const b{"b", 2};
node_address const c{"c", 3};

node_view ok_at(std::uint64_t epoch) { return {true, epoch}; }
node_view failing_at(std::uint64_t epoch) { return {false, epoch}; }

struct RedisMapRanking : testing::Test {
  map_ranking ranking;
};

// ---------------------------------------------------------------------------------- what counts

TEST_F(RedisMapRanking, AMapOfASoundNodeCountsAtOnce) {
  EXPECT_EQ(ranking.rank(a, ok_at(1)), map_worth::counts);
  ranking.now_in_use(ok_at(5));
  EXPECT_EQ(ranking.rank(a, ok_at(6)), map_worth::counts);
}

// A slot's move need not raise it, so the new map may have the old epoch.
TEST_F(RedisMapRanking, AnEqualEpochCounts) {
  ranking.now_in_use(ok_at(5));
  EXPECT_EQ(ranking.rank(a, ok_at(5)), map_worth::counts);
}

TEST_F(RedisMapRanking, WhatANodeDoesNotSayIsNotHeldAgainstIt) {
  ranking.now_in_use(ok_at(5));
  EXPECT_EQ(ranking.rank(a, {}), map_worth::counts);
  ranking.now_in_use({});
  EXPECT_EQ(ranking.rank(a, ok_at(4)), map_worth::best) << "the last epoch is forgotten";
}

TEST_F(RedisMapRanking, ASmallerEpochAndAFailingNodeAreDoubtful) {
  ranking.now_in_use(ok_at(5));
  EXPECT_EQ(ranking.rank(a, ok_at(4)), map_worth::best);
  ranking.begin_search({a, b});
  EXPECT_EQ(ranking.rank(b, failing_at(6)), map_worth::best);
}

TEST_F(RedisMapRanking, OfDoubtfulOnesTheLargerEpochIsBetter) {
  ranking.now_in_use(ok_at(9));
  ranking.begin_search({a, b, c});
  EXPECT_EQ(ranking.rank(a, ok_at(3)), map_worth::best);
  EXPECT_EQ(ranking.rank(b, ok_at(2)), map_worth::worse);
  EXPECT_EQ(ranking.rank(b, ok_at(3)), map_worth::worse);
  EXPECT_EQ(ranking.rank(c, ok_at(4)), map_worth::best);
}

TEST_F(RedisMapRanking, OneThatFailsIsWorseThanOneThatDoesNotWhateverItsEpoch) {
  ranking.now_in_use(ok_at(9));
  ranking.begin_search({a, b, c});
  EXPECT_EQ(ranking.rank(a, failing_at(8)), map_worth::best);
  EXPECT_EQ(ranking.rank(b, ok_at(2)), map_worth::best);
  EXPECT_EQ(ranking.rank(c, failing_at(9)), map_worth::worse);
}

TEST_F(RedisMapRanking, EachSearchRanksAnew) {
  ranking.now_in_use(ok_at(9));
  ranking.begin_search({a, b});
  EXPECT_EQ(ranking.rank(a, ok_at(8)), map_worth::best);
  ranking.begin_search({a, b});
  EXPECT_EQ(ranking.rank(b, ok_at(3)), map_worth::best);
}

// Else a cluster that was built anew would be refused for ever.
TEST_F(RedisMapRanking, WhatIsUsedSetsTheEpochAlsoWhenItIsSmaller) {
  ranking.now_in_use(ok_at(9));
  ranking.now_in_use(ok_at(2));
  EXPECT_EQ(ranking.rank(a, ok_at(3)), map_worth::counts);
}

// ---------------------------------------------------------------------------------- the order

TEST_F(RedisMapRanking, SuspectsAreAskedLastAndTheOthersAsTheyStood) {
  ranking.suspect(a);
  EXPECT_EQ(ranking.in_order({a, c, b}), (nodes{c, b, a}));
  ranking.suspect(c);
  EXPECT_EQ(ranking.in_order({a, c, b}), (nodes{b, a, c}));
}

TEST_F(RedisMapRanking, ADoubtfulMapMakesASuspectAndASoundOneEndsIt) {
  ranking.now_in_use(ok_at(5));
  ranking.rank(a, ok_at(4));
  EXPECT_EQ(ranking.in_order({a, b}), (nodes{b, a}));
  ranking.rank(a, ok_at(5));
  EXPECT_EQ(ranking.in_order({a, b}), (nodes{a, b}));
}

TEST_F(RedisMapRanking, ASuspectStaysOneFromSearchToSearchWhileItIsAsked) {
  ranking.suspect(a);
  ranking.begin_search({a, b});
  ranking.begin_search({b, a});
  EXPECT_EQ(ranking.in_order({a, b}), (nodes{b, a}));
  ranking.begin_search({b});
  EXPECT_EQ(ranking.in_order({a, b}), (nodes{a, b})) << "nodes that are gone are kept for ever";
}

// ---------------------------------------------------------------------------------- CLUSTER INFO

TEST(RedisClusterInfo, TellsStateAndEpoch) {
  auto const view = read_cluster_info(
      "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_current_epoch:6\r\n"
      "cluster_my_epoch:2\r\n");
  EXPECT_EQ(view.ok, true);
  EXPECT_EQ(view.epoch, 6U);
  EXPECT_EQ(read_cluster_info("cluster_state:fail\r\n").ok, false);
}

TEST(RedisClusterInfo, WhatCannotBeReadIsUnknown) {
  for (std::string_view const text :
       {"", "\r\n", "cluster_state", "cluster_state:\r\ncluster_current_epoch:\r\n",
        "cluster_state:maybe\r\ncluster_current_epoch:x6\r\n",
        "cluster_current_epoch:99999999999999999999999\r\n", "cluster_current_epoch:-1\r\n"}) {
    auto const view = read_cluster_info(text);
    EXPECT_FALSE(view.ok.has_value()) << text;
    EXPECT_FALSE(view.epoch.has_value()) << text;
  }
}

}  // namespace
}  // namespace herdlock::redis
