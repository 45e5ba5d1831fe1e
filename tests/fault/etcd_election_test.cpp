// B15: a waiter whose own lease is gone believes that it won, as etcd#19597 tells it: it watches
// the key before its own only, which goes, and nobody asks whether its own key is still there.
#include <gtest/gtest.h>

#include <contract/election_candidate.hpp>
#include <support/etcd_server.hpp>
#include <support/eventually.hpp>
#include <support/relay.hpp>

namespace herdlock_test {
namespace {

class EtcdElection : public testing::Test {
 protected:
  EtcdElection() { server_.flush(); }

  std::string through() const { return "etcd://127.0.0.1:" + std::to_string(path_.port()); }
  std::optional<lease_info> holder() const {
    return lock(open_store(server_.url()), "job").inspect();
  }
  bool waiting(std::size_t count) const {
    return eventually([&] {
      auto const seen = holder();
      return seen && seen->waiting == count;
    });
  }
  // The lease under the youngest key: that of who joined last.
  std::string youngest_lease() const {
    auto const text = server_.member().ctl({"get", "job/", "--prefix", "--sort-by=CREATE",
                                            "--order=DESCEND", "--limit=1", "--write-out=fields"});
    auto const at = text.find("\"Lease\" : ") + 10;
    char hex[32];
    std::snprintf(hex, sizeof hex, "%llx", std::stoull(text.substr(at)));
    return hex;
  }
  void reconnect() {
    path_.cut_all();
    path_.resume_forwarding();
  }

  // The judge outlives the candidates.
  guarded_side side_;
  etcd_server& server_ = etcd_server::shared();
  relay path_{server_.port()};
};

TEST_F(EtcdElection, AWaiterWhoseLeaseWasRevokedDoesNotLeadWhenTheOneBeforeItLeaves) {
  candidate leader(open_store(server_.url()), "leader", side_, 1min);
  candidate waiter(open_store(through()), "waiter", side_, 1min);
  candidate third(open_store(server_.url()), "third", side_, 1min);
  leader.stand();
  ASSERT_TRUE(eventually([&] { return leader.works(); }));
  waiter.stand();
  ASSERT_TRUE(waiting(1));
  auto const lease_of_the_waiter = youngest_lease();
  third.stand();
  ASSERT_TRUE(waiting(2));
  // It hears of nothing until both have happened.
  path_.stop_forwarding();
  server_.revoke(lease_of_the_waiter);
  EXPECT_TRUE(leader.end());
  ASSERT_TRUE(eventually([&] { return third.works(); }));
  reconnect();
  ASSERT_TRUE(waiting(1)) << "it joined again, behind the one that leads";
  EXPECT_FALSE(waiter.works());
  EXPECT_EQ(waiter.times(election_event::granted), 0);
  EXPECT_EQ(holder()->holder, "third");
  EXPECT_TRUE(third.end());
  ASSERT_TRUE(eventually([&] { return waiter.works(); }));
  EXPECT_EQ(holder()->holder, "waiter") << "with a key";
  EXPECT_EQ(side_.terms(), 3);
  EXPECT_TRUE(side_.clean());
}

// The same without a third one, and without a cut: the last word is about the key before its own.
TEST_F(EtcdElection, ARevokedWaiterThatIsAloneLeadsWithAKeyOfItsOwn) {
  candidate leader(open_store(server_.url()), "leader", side_, 1min);
  candidate waiter(open_store(server_.url()), "waiter", side_, 1min);
  leader.stand();
  ASSERT_TRUE(eventually([&] { return leader.works(); }));
  for (int i = 0; i < 5; ++i) {
    waiter.stand();
    ASSERT_TRUE(waiting(1));
    server_.revoke(youngest_lease());
    EXPECT_TRUE(leader.end());
    ASSERT_TRUE(eventually([&] { return waiter.works(); }));
    auto const seen = holder();
    ASSERT_TRUE(seen) << "a leader without a key";
    EXPECT_EQ(seen->holder, "waiter");
    leader.stand();
    ASSERT_TRUE(waiting(1));
    EXPECT_TRUE(waiter.end());
    ASSERT_TRUE(eventually([&] { return leader.works(); }));
  }
  EXPECT_TRUE(side_.clean());
}

}  // namespace
}  // namespace herdlock_test
