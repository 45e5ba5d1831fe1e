// Which keys are hot in a process, by its own count and by the fleet, in how many places.
#include "algo/hot_places.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

struct HotPlaces : testing::Test {
  static std::uint64_t hash(char key) { return static_cast<std::uint64_t>(key); }
  bool hot(char key, hot_by how, std::uint64_t low = 0) {
    return places.becomes_hot(std::string(1, key), hash(key), how, low);
  }
  bool cools(char key, hot_by how) { return places.cools(hash(key), how); }
  /// Of whoever takes a free place; empty: nobody.
  std::string next() {
    auto const taken = places.take_free();
    return taken ? taken->key : std::string();
  }

  hot_places places{2};
};

TEST_F(HotPlaces, AKeyHasOnePlaceUntilNeitherCountSaysThatItIsHot) {
  EXPECT_TRUE(hot('a', hot_by::our_count));
  EXPECT_FALSE(hot('a', hot_by::fleet)) << "it has one";
  EXPECT_EQ(places.taken(), 1u);
  EXPECT_FALSE(cools('a', hot_by::our_count)) << "the fleet reads it";
  EXPECT_TRUE(cools('a', hot_by::fleet));
  EXPECT_FALSE(places.has(hash('a')));
  EXPECT_FALSE(cools('a', hot_by::fleet)) << "it has none";
}

// The fleet tells of it once: else it would stay unkept here for as long as it is hot.
TEST_F(HotPlaces, AKeyThatTheFleetNamedWhileAllWereTakenHasTheNextFreeOne) {
  hot('a', hot_by::our_count);
  hot('b', hot_by::our_count);
  EXPECT_FALSE(hot('x', hot_by::fleet));
  EXPECT_EQ(next(), "") << "all are taken";
  EXPECT_TRUE(cools('a', hot_by::our_count));
  EXPECT_EQ(next(), "x");
  EXPECT_TRUE(places.has(hash('x')));
  EXPECT_EQ(places.waiting(), 0u);
  EXPECT_EQ(next(), "");
  EXPECT_TRUE(cools('x', hot_by::fleet)) << "as one that had its place at once";
}

TEST_F(HotPlaces, WhoWaitsLongestIsFirst) {
  hot('a', hot_by::our_count);
  hot('b', hot_by::our_count);
  hot('x', hot_by::fleet);
  hot('y', hot_by::fleet);
  cools('a', hot_by::our_count);
  EXPECT_FALSE(hot('z', hot_by::fleet)) << "the free place is another's";
  cools('b', hot_by::our_count);
  EXPECT_EQ(next(), "x");
  EXPECT_EQ(next(), "y");
  EXPECT_EQ(next(), "");
}

TEST_F(HotPlaces, WhatHasCooledMeanwhileWaitsNoMore) {
  hot('a', hot_by::our_count);
  hot('b', hot_by::our_count);
  hot('x', hot_by::fleet);
  EXPECT_FALSE(cools('x', hot_by::fleet)) << "it had no place";
  EXPECT_EQ(places.waiting(), 0u);
  cools('a', hot_by::our_count);
  EXPECT_EQ(next(), "");
}

// Its own count is bounded by itself, and tells of a key once as well.
TEST_F(HotPlaces, WhatIsHotByOurOwnCountTakesAPlaceAllTheSame) {
  hot('a', hot_by::fleet);
  hot('b', hot_by::fleet);
  hot('x', hot_by::fleet);
  EXPECT_TRUE(hot('x', hot_by::our_count)) << "it waited";
  EXPECT_EQ(places.waiting(), 0u);
  EXPECT_EQ(places.taken(), 3u);
  EXPECT_FALSE(cools('x', hot_by::our_count)) << "the fleet still says that it is hot";
  EXPECT_TRUE(cools('x', hot_by::fleet));
}

TEST_F(HotPlaces, NobodyTakesAPlaceWhileMoreAreTakenThanThereAre) {
  hot('a', hot_by::fleet);
  hot('b', hot_by::fleet);
  hot('c', hot_by::our_count);
  hot('x', hot_by::fleet);
  cools('a', hot_by::fleet);
  EXPECT_EQ(next(), "");
  cools('b', hot_by::fleet);
  EXPECT_EQ(next(), "x");
}

TEST_F(HotPlaces, OfThoseThatWaitTheOneReadMostIsFirst) {
  hot('a', hot_by::our_count);
  hot('b', hot_by::our_count);
  hot('x', hot_by::fleet, 100);
  hot('y', hot_by::fleet, 300);
  cools('a', hot_by::our_count);
  EXPECT_EQ(next(), "y");
}

TEST_F(HotPlaces, OneThatIsReadTwiceAsMuchTakesThePlaceOfAKeyThatTheFleetNamed) {
  hot('a', hot_by::fleet, 200);
  hot('b', hot_by::our_count);
  hot('x', hot_by::fleet, 399);
  EXPECT_FALSE(places.make_room()) << "not clearly more";
  hot('y', hot_by::fleet, 400);
  auto const out = places.make_room();
  ASSERT_TRUE(out);
  EXPECT_EQ(out->key, "a");
  EXPECT_EQ(next(), "y");
  EXPECT_FALSE(places.make_room()) << "it is read more";
  cools('y', hot_by::fleet);
  EXPECT_EQ(next(), "x");
  cools('x', hot_by::fleet);
  EXPECT_EQ(next(), "a") << "it has waited since then";
}

TEST_F(HotPlaces, WhatIsHotByOurOwnCountMakesNoRoom) {
  hot('a', hot_by::our_count);
  hot('b', hot_by::our_count);
  hot('x', hot_by::fleet, 100);
  EXPECT_FALSE(places.make_room());
}

TEST_F(HotPlaces, WhileMoreAreTakenThanThereAreNobodyMakesRoom) {
  hot('a', hot_by::fleet, 1);
  hot('b', hot_by::our_count);
  hot('c', hot_by::our_count);
  hot('x', hot_by::fleet, 100);
  EXPECT_FALSE(places.make_room());
}

TEST_F(HotPlaces, NoMoreWaitThanThereArePlaces) {
  hot('a', hot_by::our_count);
  hot('b', hot_by::our_count);
  for (char const key : {'w', 'x', 'x', 'y'}) hot(key, hot_by::fleet);
  EXPECT_EQ(places.waiting(), 2u);
  cools('a', hot_by::our_count);
  EXPECT_EQ(next(), "w");
  EXPECT_TRUE(hot('y', hot_by::our_count));
}

}  // namespace
}  // namespace herdlock::algo
