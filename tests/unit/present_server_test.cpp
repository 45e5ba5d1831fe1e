#include "stores/common/present_server.hpp"

#include <gtest/gtest.h>

namespace herdlock::stores {
namespace {

using verdict = present_server::verdict;

clock::time_point at(int ms) { return clock::time_point{} + milliseconds{ms}; }

TEST(PresentServer, TheFirstIsBelieved) {
  present_server one;
  EXPECT_EQ(one.met(at(1), "a"), verdict::same);
  EXPECT_EQ(one.met(at(2), "a"), verdict::same);
}

TEST(PresentServer, TheConnectionThatWasBegunLastCounts) {
  present_server one;
  one.met(at(1), "a");
  EXPECT_EQ(one.met(at(2), "b"), verdict::moved);
  EXPECT_EQ(one.met(at(3), "b"), verdict::same);
}

// It was begun before the name moved, and came up after.
TEST(PresentServer, OneThatWasBegunBeforeAndComesUpLateChangesNothing) {
  present_server one;
  one.met(at(1), "a");
  one.met(at(3), "b");
  EXPECT_EQ(one.met(at(2), "a"), verdict::outdated);
  EXPECT_EQ(one.met(at(4), "b"), verdict::same);
}

TEST(PresentServer, OneAtTheSameServerMovesTheTimeOn) {
  present_server one;
  one.met(at(1), "a");
  one.met(at(5), "a");
  EXPECT_EQ(one.met(at(4), "b"), verdict::outdated);
  EXPECT_EQ(one.met(at(2), "a"), verdict::same);
  EXPECT_EQ(one.met(at(4), "b"), verdict::outdated);
}

TEST(PresentServer, AServerThatDoesNotTellIsNoReason) {
  present_server one;
  EXPECT_EQ(one.met(at(1), ""), verdict::same);
  one.met(at(2), "a");
  EXPECT_EQ(one.met(at(3), ""), verdict::same);
  EXPECT_EQ(one.met(at(4), "a"), verdict::same);
}

TEST(PresentServer, OnlyWhatIsKnownLeadsElsewhere) {
  EXPECT_TRUE(leads_elsewhere("a", "b"));
  EXPECT_FALSE(leads_elsewhere("b", "b"));
  EXPECT_FALSE(leads_elsewhere("", "b"));
}

TEST(ToAndFro, IsThreeMovesOfWhichNoneIsLate) {
  using std::chrono::seconds;
  clock::time_point const start{std::chrono::hours{1}};
  to_and_fro one;
  EXPECT_FALSE(one.moved(start));
  EXPECT_FALSE(one.moved(start + seconds{50}));
  EXPECT_TRUE(one.moved(start + seconds{100}));
  EXPECT_TRUE(one.moved(start + seconds{150}));
  EXPECT_FALSE(one.moved(start + seconds{211})) << "behind a quiet minute";
  EXPECT_FALSE(one.moved(start + seconds{212}));
  EXPECT_TRUE(one.moved(start + seconds{213}));
}

}  // namespace
}  // namespace herdlock::stores
