// B14: two leaders after a reconnection, as curator#1211, #1137 and #1169 tell it: the leader's
// connection is suspended, its node goes, another takes over, and the first one comes back thinking
// that it still leads.
#include <gtest/gtest.h>

#include <contract/election_candidate.hpp>
#include <support/eventually.hpp>
#include <support/relay.hpp>
#include <support/zookeeper_server.hpp>

namespace herdlock_test {
namespace {

class ZookeeperElection : public testing::Test {
 protected:
  std::string through(std::string const& options) const {
    return "zk://127.0.0.1:" + std::to_string(path_.port()) + chroot_ + options;
  }
  std::optional<lease_info> holder() const {
    return lock(open_store(server_.url(chroot_)), "job").inspect();
  }
  // Its connection comes back: what it held on to is told by the server.
  void reconnect() {
    path_.cut_all();
    path_.resume_forwarding();
  }

  // The judge outlives the candidates.
  guarded_side side_;
  zookeeper_server& server_ = zookeeper_server::shared();
  std::string const chroot_ = server_.fresh_chroot();
  relay path_{server_.port()};
};

TEST_F(ZookeeperElection, ALeaderWhoseSessionEndedWhileItWasCutOffDoesNotLeadWhenItComesBack) {
  candidate first(open_store(through("?session_timeout=3s")), "first", side_, 3s);
  candidate second(open_store(server_.url(chroot_) + "?session_timeout=20s"), "second", side_,
                   1min);
  first.stand();
  ASSERT_TRUE(eventually([&] { return first.works(); }));
  second.stand();
  ASSERT_TRUE(eventually([&] {
    auto const seen = holder();
    return seen && seen->waiting == 1;
  }));
  path_.stop_forwarding();
  ASSERT_TRUE(eventually([&] { return second.works(); }));
  EXPECT_FALSE(first.works()) << "it stopped before";
  EXPECT_TRUE(side_.clean());
  reconnect();
  // It stands again, behind the other one, and nothing of the old term comes back.
  ASSERT_TRUE(eventually([&] {
    auto const seen = holder();
    return seen && seen->waiting == 1;
  }));
  EXPECT_EQ(holder()->holder, "second");
  EXPECT_FALSE(first.works());
  EXPECT_TRUE(second.works());
  EXPECT_EQ(first.times(election_event::granted), 1);
  EXPECT_TRUE(second.end());
  ASSERT_TRUE(eventually([&] { return first.works(); })) << "in its turn, in a term of its own";
  EXPECT_EQ(side_.terms(), 3);
  EXPECT_TRUE(side_.clean());
}

// The node is deleted by somebody while the leader cannot hear of it. That it still works for a
// while nobody can prevent but the guarded side, by the term's number; it must not go on.
TEST_F(ZookeeperElection, ALeaderWhoseNodeWasDeletedWhileItWasCutOffStopsWhenItComesBack) {
  candidate first(open_store(through("?session_timeout=20s")), "first", side_, 20s);
  candidate second(open_store(server_.url(chroot_) + "?session_timeout=20s"), "second", side_, 20s);
  first.stand();
  ASSERT_TRUE(eventually([&] { return first.works(); }));
  auto const old_term = holder()->fencing;
  second.stand();
  ASSERT_TRUE(eventually([&] {
    auto const seen = holder();
    return seen && seen->waiting == 1;
  }));
  path_.stop_forwarding();
  ASSERT_TRUE(lock(second.where(), "job").force_release());
  ASSERT_TRUE(eventually([&] { return second.works(); }));
  EXPECT_GT(holder()->fencing, old_term) << "so that what the first one writes is refused";
  reconnect();
  ASSERT_TRUE(eventually([&] { return first.times(election_event::lost) == 1; }));
  ASSERT_TRUE(eventually([&] { return !first.works(); }));
  ASSERT_TRUE(eventually([&] {
    auto const seen = holder();
    return seen && seen->waiting == 1;
  }));
  EXPECT_EQ(holder()->holder, "second") << "the first one's clean-up took nobody else's node";
  EXPECT_TRUE(second.works());
  EXPECT_EQ(second.times(election_event::lost), 0);
}

// curator#980: a candidate that was cut off while it waited, and whose place has gone.
TEST_F(ZookeeperElection, AWaitersSessionThatEndedGivesItNoTermWhenTheLeaderLeaves) {
  candidate leader(open_store(server_.url(chroot_) + "?session_timeout=20s"), "leader", side_, 20s);
  candidate cut_off(open_store(through("?session_timeout=1s")), "cut off", side_, 1s);
  candidate third(open_store(server_.url(chroot_) + "?session_timeout=20s"), "third", side_, 20s);
  leader.stand();
  ASSERT_TRUE(eventually([&] { return leader.works(); }));
  cut_off.stand();
  ASSERT_TRUE(eventually([&] {
    auto const seen = holder();
    return seen && seen->waiting == 1;
  }));
  third.stand();
  ASSERT_TRUE(eventually([&] {
    auto const seen = holder();
    return seen && seen->waiting == 2;
  }));
  path_.stop_forwarding();
  ASSERT_TRUE(eventually([&] {
    auto const seen = holder();
    return seen && seen->waiting == 1;
  }));
  EXPECT_TRUE(leader.end());
  ASSERT_TRUE(eventually([&] { return third.works(); }));
  reconnect();
  ASSERT_TRUE(eventually([&] {
    auto const seen = holder();
    return seen && seen->waiting == 1;
  }));
  EXPECT_FALSE(cut_off.works());
  EXPECT_EQ(cut_off.times(election_event::granted), 0);
  EXPECT_TRUE(third.end());
  EXPECT_TRUE(eventually([&] { return cut_off.works(); }));
  EXPECT_TRUE(side_.clean());
}

}  // namespace
}  // namespace herdlock_test
