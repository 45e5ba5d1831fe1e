#include <gtest/gtest.h>

#include "stores/etcd/member_clusters.hpp"

namespace herdlock::etcd {
namespace {

TEST(EtcdMemberClusters, AStrangerAmongKnownMembersIsNotBelieved) {
  member_clusters one(3);
  EXPECT_TRUE(one.heard(0, "7"));
  EXPECT_TRUE(one.heard(1, "7"));
  EXPECT_TRUE(one.certain());
  EXPECT_FALSE(one.heard(0, "8"));
  EXPECT_TRUE(one.heard(1, "7"));
}

TEST(EtcdMemberClusters, WithAsManyMembersTheOneThatIsBelievedStays) {
  member_clusters one(2);
  EXPECT_TRUE(one.heard(0, "7"));
  EXPECT_FALSE(one.heard(1, "8"));
  EXPECT_TRUE(one.heard(0, "7"));
}

// The first answer is not the right one for being the first.
TEST(EtcdMemberClusters, AStrangerWhoAnswersFirstIsOutvoted) {
  member_clusters one(3);
  EXPECT_TRUE(one.heard(0, "8"));
  EXPECT_FALSE(one.certain());
  EXPECT_FALSE(one.heard(1, "7"));
  EXPECT_TRUE(one.heard(2, "7"));
  EXPECT_FALSE(one.heard(0, "8"));
  EXPECT_TRUE(one.certain());
}

TEST(EtcdMemberClusters, AClusterThatWasMadeAnewIsBelievedWhenMostMembersAreOfIt) {
  member_clusters one(3);
  for (std::size_t i = 0; i < 3; ++i) one.heard(i, "7");
  EXPECT_FALSE(one.heard(0, "8"));
  EXPECT_TRUE(one.heard(1, "8"));
  EXPECT_TRUE(one.heard(2, "8"));
}

TEST(EtcdMemberClusters, WithOneMemberThereIsNothingToCompare) {
  member_clusters one(1);
  EXPECT_TRUE(one.heard(0, "7"));
  EXPECT_TRUE(one.certain());
  EXPECT_TRUE(one.heard(0, "8"));
}

TEST(EtcdMemberClusters, AnAnswerThatDoesNotSayIsNoReason) {
  member_clusters one(2);
  EXPECT_TRUE(one.heard(0, ""));
  EXPECT_FALSE(one.stranger(0));
  EXPECT_FALSE(one.known(0));
  EXPECT_FALSE(one.certain());
  EXPECT_TRUE(one.heard(1, "7"));
  EXPECT_TRUE(one.heard(1, ""));
  EXPECT_TRUE(one.known(1));
}

// A stranger was believed without end when it was the only one that answered.
TEST(EtcdMemberClusters, OfThreeOneAloneIsNotBelieved) {
  member_clusters one(3);
  EXPECT_EQ(one.agreed(), agreement::none);
  one.heard(0, "8");
  EXPECT_EQ(one.agreed(), agreement::none);
  one.did_not_say(1);
  one.did_not_say(2);
  EXPECT_EQ(one.agreed(), agreement::none);
  one.heard(1, "7");
  EXPECT_EQ(one.agreed(), agreement::none);
  one.heard(2, "7");
  EXPECT_EQ(one.agreed(), agreement::sure);
  EXPECT_TRUE(one.stranger(0));
  EXPECT_EQ(one.named(), 2u);
}

TEST(EtcdMemberClusters, OfTwoBothAgreeOrOneIsSilent) {
  member_clusters one(2);
  EXPECT_EQ(one.agreed(), agreement::none);
  one.heard(1, "7");
  EXPECT_EQ(one.agreed(), agreement::alone);
  one.heard(0, "8");
  EXPECT_EQ(one.agreed(), agreement::none);
  one.heard(0, "7");
  EXPECT_EQ(one.agreed(), agreement::sure);
}

TEST(EtcdMemberClusters, WhereNobodySaysThereIsNothingToCompare) {
  member_clusters one(3);
  one.did_not_say(0);
  EXPECT_EQ(one.agreed(), agreement::none);
  one.did_not_say(2);
  EXPECT_EQ(one.agreed(), agreement::nobody_says);
  EXPECT_TRUE(one.known(0));
  EXPECT_FALSE(one.known(1));
}

TEST(EtcdMemberClusters, ReadsTheClusterOfAnAnswer) {
  EXPECT_EQ(cluster_in(R"({"header":{"cluster_id":"14841639068965178418","revision":"1"}})"),
            "14841639068965178418");
  EXPECT_EQ(cluster_in(R"({"error":"etcdserver: no leader"})"), "");
  EXPECT_EQ(cluster_in(R"({"header":{"cluster_id":"148)"), "");
}

}  // namespace
}  // namespace herdlock::etcd
