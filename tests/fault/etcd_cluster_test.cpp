// Three members, of which one is killed or hangs: any one, and the leader.
#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

// One cluster for all of them; each test leaves it whole.
class EtcdClusterTest : public testing::Test {
 protected:
  static etcd_cluster& cluster() {
    static etcd_cluster shared;
    return shared;
  }
  resource const stock{"stock/" + owner_token::generate().str().substr(0, 8) +
                       std::to_string(clock::now().time_since_epoch().count())};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();

  // A holder and a waiter go on while `harm` is done to a member. The timeout is also what the
  // members have for an election and for their first write after it, on a slow disk.
  template <class Harm>
  void survives(Harm harm, std::string const& timeout = "15s") {
    etcd_client holder(cluster().url() + "?timeout=" + timeout);
    etcd_client waiter(cluster().url() + "?timeout=" + timeout);
    auto const first = as<grant>(holder.acquire(stock, alice)).fencing;
    auto bobs = waiter.wait_for(stock, bob);
    ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
    harm();
    ASSERT_TRUE(eventually([&] { return holder.renew(stock, alice).has_value(); }));
    EXPECT_EQ(holder.renew(stock, alice).value(), renew_reply::renewed);
    EXPECT_FALSE(bobs.done());
    ASSERT_TRUE(eventually([&] { return holder.release(stock, alice).has_value(); }));
    auto const reply = waiter.get(bobs);
    ASSERT_TRUE(is<grant>(reply)) << (reply ? "" : reply.error().message);
    EXPECT_GT(as<grant>(reply).fencing, first);
    EXPECT_TRUE(is<busy>(holder.acquire(stock, alice)));
    EXPECT_EQ(waiter.release(stock, bob).value(), release_reply::released);
  }
};

// The first member of the URL is the one that the handles are connected to.
TEST_F(EtcdClusterTest, TheMemberThatWeAreConnectedToIsKilled) {
  survives([&] { cluster().member(0).kill(); });
  cluster().restart(0);
}

TEST_F(EtcdClusterTest, TheLeaderIsKilled) {
  auto const leader = cluster().leader();
  survives([&] { cluster().member(leader).kill(); });
  cluster().restart(leader);
}

TEST_F(EtcdClusterTest, TheMemberThatWeAreConnectedToHangs) {
  // Of a member that hangs, each call waits for a share of the timeout.
  survives([&] { cluster().member(0).pause(); }, "6s");
  cluster().member(0).resume();
}

TEST_F(EtcdClusterTest, WithoutAMajorityOperationsFailAndNothingIsGrantedTwice) {
  etcd_client c(cluster().url() + "?timeout=500ms");
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
  cluster().member(1).kill();
  cluster().member(2).kill();
  auto const told = c.acquire(stock, bob);
  ASSERT_TRUE(told.has_error());
  EXPECT_TRUE(told.error() == errc::unavailable || told.error() == errc::timed_out);
  EXPECT_TRUE(c.renew(stock, alice).has_error());
  cluster().start(1);
  cluster().restart(2);
  EXPECT_TRUE(eventually([&] { return c.renew(stock, alice).has_value(); }));
  EXPECT_TRUE(eventually([&] { return is<busy>(c.acquire(stock, bob)); }));
}

}  // namespace
}  // namespace herdlock_test
