// Which server is the master when sentinels disagree, are silent, or know of a switch before
// others.
#include <gtest/gtest.h>

#include "stores/redis/sentinel/master_vote.hpp"

namespace {

using namespace herdlock::redis;
using herdlock::stores::server_address;

server_address const a{"10.0.0.1", 6379};
server_address const b{"10.0.0.2", 6379};
server_address const c{"10.0.0.3", 6379};

std::vector<server_address> sentinels(std::size_t count) {
  std::vector<server_address> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back({"s" + std::to_string(i + 1), 26379});
  return all;
}

TEST(RedisMasterVote, MoreThanHalfOfAllDecideWhoeverIsSilent) {
  master_vote vote(sentinels(3));
  EXPECT_FALSE(vote.decided());
  vote.names(2, b);
  EXPECT_FALSE(vote.decided()) << "the two that are missing may name another";
  vote.names(0, b);
  EXPECT_TRUE(vote.decided());
  EXPECT_EQ(vote.winner(), b);
}

// B36
TEST(RedisMasterVote, OneThatIsWrongIsOutvotedWhereverItStands) {
  for (std::size_t wrong = 0; wrong < 3; ++wrong) {
    master_vote vote(sentinels(3));
    vote.names(wrong, a);
    EXPECT_FALSE(vote.decided());
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != wrong) vote.names(i, b);
    }
    EXPECT_EQ(vote.winner(), b);
    EXPECT_EQ(vote.winner(a), b) << "the address that is used now has fewer votes";
  }
}

TEST(RedisMasterVote, HalfOfAllIsNotEnoughBeforeTheRestHasAnswered) {
  master_vote vote(sentinels(2));
  vote.names(1, b);
  EXPECT_FALSE(vote.decided());
  vote.knows_none(0);
  EXPECT_TRUE(vote.decided());
  EXPECT_EQ(vote.winner(), b);
}

TEST(RedisMasterVote, WithAsManyVotesTheAddressThatIsUsedNowStays) {
  master_vote vote(sentinels(2));
  vote.names(0, a);
  vote.names(1, b);
  EXPECT_TRUE(vote.decided());
  EXPECT_EQ(vote.winner(b), b);
  EXPECT_EQ(vote.winner(a), a);
}

TEST(RedisMasterVote, WithAsManyVotesElseTheFirstSentinelCounts) {
  master_vote vote(sentinels(2));
  vote.names(1, b);
  vote.names(0, a);
  EXPECT_EQ(vote.winner(), a);
  EXPECT_EQ(vote.winner(c), a) << "nobody names the address that is used now";
}

TEST(RedisMasterVote, NobodyWhoKnowsOneIsNoWinner) {
  master_vote vote(sentinels(2));
  vote.knows_none(0);
  EXPECT_FALSE(vote.decided());
  vote.knows_none(1);
  EXPECT_TRUE(vote.decided());
  EXPECT_FALSE(vote.winner(a));
}

// B35: two sentinels, of which one is cut off and still names the master of before.
TEST(RedisMasterVote, WithAsManyVotesTheLargerEpochCounts) {
  for (std::size_t knows = 0; knows < 2; ++knows) {
    master_vote vote(sentinels(2));
    vote.names(1 - knows, a, 3);
    vote.names(knows, b, 4);
    EXPECT_EQ(vote.winner(), b);
    EXPECT_EQ(vote.winner(a), b) << "the address of before would stay for ever";
  }
}

TEST(RedisMasterVote, MoreVotesCountMoreThanALargerEpoch) {
  master_vote vote(sentinels(3));
  vote.names(0, b, 9);
  vote.names(1, a, 3);
  vote.names(2, a, 3);
  EXPECT_EQ(vote.winner(b), a) << "one that is alone with its switch";
}

TEST(RedisMasterVote, WhoNamesAnotherMasterContradicts) {
  master_vote vote(sentinels(3));
  vote.names(0, a);
  vote.names(1, b);
  EXPECT_TRUE(vote.contradicts({"s1", 26379}, b));
  EXPECT_FALSE(vote.contradicts({"s2", 26379}, b));
  EXPECT_FALSE(vote.contradicts({"s3", 26379}, b)) << "it was not waited for";
}

TEST(RedisMasterVote, ThoseThatNamedAnAddressAreTold) {
  master_vote vote(sentinels(3));
  vote.names(0, a);
  vote.names(1, b);
  vote.names(2, a);
  EXPECT_EQ(vote.who_named(a), (std::vector<server_address>{{"s1", 26379}, {"s3", 26379}}));
  EXPECT_EQ(naming_text(vote.who_named(b)), " (the sentinel at s2:26379 names it)");
  EXPECT_EQ(naming_text(vote.who_named(a)), " (the sentinels at s1:26379, s3:26379 name it)");
  EXPECT_EQ(naming_text(vote.who_named(c)), "");
  EXPECT_EQ(vote.dissent(), "s2:26379 names 10.0.0.2:6379");
}

}  // namespace
