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

struct ToAndFro : testing::Test {
  bool moved(std::string const& from, std::string const& to, int second) {
    return one.moved(from, to,
                     clock::time_point{std::chrono::hours{1}} + std::chrono::seconds{second});
  }
  to_and_fro one;
};

TEST_F(ToAndFro, IsTwoReturnsOfWhichNoneIsLate) {
  EXPECT_FALSE(moved("a", "b", 0));
  EXPECT_FALSE(moved("b", "a", 50));
  EXPECT_TRUE(moved("a", "b", 100));
  EXPECT_TRUE(moved("b", "a", 150));
  EXPECT_FALSE(moved("a", "b", 211)) << "behind a quiet minute";
  EXPECT_FALSE(moved("b", "a", 212));
  EXPECT_TRUE(moved("a", "b", 213));
}

TEST_F(ToAndFro, IsSeenAlsoOfSeveralServersInTurn) {
  constexpr int servers = to_and_fro::remembered;
  auto const next = [&](int i) {
    return moved(std::to_string(i % servers), std::to_string((i + 1) % servers), i);
  };
  for (int i = 0; i < servers; ++i) EXPECT_FALSE(next(i)) << i;
  EXPECT_TRUE(next(servers));
}

// Each start gives it another identity, and there is one server at a time.
TEST_F(ToAndFro, IsNotAServerThatIsStartedAnewAgainAndAgain) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(moved(std::to_string(i), std::to_string(i + 1), i)) << i;
  }
}

}  // namespace
}  // namespace herdlock::stores
