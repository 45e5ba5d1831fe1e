// A member of another cluster at an address of ours, and a member that is cut off from the others.
#include <array>
#include <support/redis_server.hpp>

#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

struct EtcdStrangers : testing::Test {
  static etcd_cluster& cluster() {
    static etcd_cluster shared;
    return shared;
  }
  // The first member by its name, the others as they are.
  std::string url() const {
    return "etcd://127.0.0.1:" + std::to_string(first.port()) +
           ",127.0.0.1:" + std::to_string(cluster().member(1).port()) +
           ",127.0.0.1:" + std::to_string(cluster().member(2).port());
  }
  relay first{cluster().member(0).port()};
  etcd_server stranger;
  resource const stock{"stock/" + std::to_string(clock::now().time_since_epoch().count())};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

// Two holders, for as long as the stranger answered.
TEST_F(EtcdStrangers, WhoTakesAMembersAddressGrantsNothing) {
  etcd_client holder(cluster().url());
  ASSERT_TRUE(is<grant>(holder.acquire(stock, alice)));
  etcd_client other(url());
  ASSERT_TRUE(is<busy>(other.acquire(stock, bob)));
  first.lead_to(stranger.port());
  first.cut_all();
  auto const told = other.acquire(stock, bob);
  EXPECT_TRUE(is<busy>(told)) << (told ? "a second holder, of another cluster"
                                       : told.error().message);
  EXPECT_EQ(holder.renew(stock, alice).value(), renew_reply::renewed);
}

// The first that answered was believed.
TEST_F(EtcdStrangers, AStrangerWhoIsNamedFirstGrantsNothing) {
  etcd_client holder(cluster().url());
  ASSERT_TRUE(is<grant>(holder.acquire(stock, alice)));
  first.lead_to(stranger.port());
  etcd_client other(url());
  auto const told = other.acquire(stock, bob);
  EXPECT_TRUE(is<busy>(told)) << (told ? "a second holder, of another cluster"
                                       : told.error().message);
}

// It said "end of stream", and no more; or, where the last try had no time left, "timeout".
TEST(EtcdElsewhere, APortThatIsNoEtcdsIsCalledThat) {
  for (int i = 0; i < 5; ++i) {
    etcd_client lost("etcd://127.0.0.1:" + std::to_string(redis_server::shared().port()) +
                     "?timeout=1s");
    auto const told = lost.acquire(resource("stock/1"), owner_token::generate());
    ASSERT_TRUE(told.has_error());
    EXPECT_EQ(told.error(), errc::unavailable);
    for (char const* part : {"perhaps no etcd", "etcd://", "redis://"}) {
      EXPECT_NE(told.error().message.find(part), std::string::npos) << told.error().message;
    }
  }
}

// Three members whose words to each other go through relays.
struct EtcdCutOff : testing::Test {
  EtcdCutOff() {
    std::string names;
    for (std::size_t i = 0; i < 3; ++i) {
      members[i] = std::make_unique<etcd_member>(
          "m" + std::to_string(i),
          std::vector<std::string>{"--initial-advertise-peer-urls=" + through_relay(i)});
      peers[i].lead_to(members[i]->peer_port());
      names += (i > 0 ? "," : "") + members[i]->name() + "=" + through_relay(i);
    }
    for (auto const& one : members) one->start(names);
    for (auto const& one : members) EXPECT_TRUE(eventually([&] { return one->answers(); }));
  }
  static std::string at(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }
  std::string through_relay(std::size_t i) const { return at(peers[i].port()); }

  // From the others, not from its clients. Those learn each other's own addresses, and the member
  // does not.
  void cut_off_the_first() {
    members[0]->pause();
    for (std::size_t i : {1u, 2u}) {
      EXPECT_TRUE(eventually([&] { return give_own_address(i); }));
    }
    for (auto& one : peers) one.refuse();
    members[0]->resume();
    EXPECT_TRUE(eventually([&] { return members[1]->answers() && members[2]->answers(); }));
  }
  bool give_own_address(std::size_t i) {
    try {
      auto const all = members[1]->ctl({"member", "list"});
      auto const mark = ", started, " + members[i]->name() + ",";
      auto const line_end = all.find(mark);
      auto const line = all.rfind('\n', line_end) + 1;
      members[1]->ctl({"member", "update", all.substr(line, line_end - line),
                       "--peer-urls=" + at(members[i]->peer_port())});
      return true;
    } catch (std::runtime_error const&) {
      return false;  // no leader yet
    }
  }
  std::string url(std::size_t first) const {
    std::string all;
    for (std::size_t i = 0; i < 3; ++i) {
      all += (i > 0 ? "," : "") + at(members[(first + i) % 3]->port()).substr(7);
    }
    return "etcd://" + all + "?timeout=20s";
  }

  std::array<relay, 3> peers{relay{1}, relay{1}, relay{1}};
  std::array<std::unique_ptr<etcd_member>, 3> members;
};

// It answers the heartbeats of its streams, but hears of nothing that is done; a waiter looked
// again after a third of its ttl.
TEST_F(EtcdCutOff, AWaiterAtAMemberThatIsCutOffIsWokenElsewhere) {
  resource const stock{"stock/1"};
  auto const alice = owner_token::generate();
  auto const bob = owner_token::generate();
  etcd_client holder(url(1));
  etcd_client waiter(url(0));
  ASSERT_TRUE(holder.run_until([&] { return is<grant>(holder.acquire(stock, alice, 1h)); }));
  auto bobs = waiter.wait_for(stock, bob, 1h);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  ASSERT_TRUE(waiter.run_until(
      [&] { return members[0]->metric("etcd_debugging_mvcc_watcher_total") > 0; }));
  cut_off_the_first();
  ASSERT_TRUE(holder.run_until([&] {
    auto const told = holder.release(stock, alice);
    return told.has_value();
  }));
  auto const reply = waiter.get(bobs);
  EXPECT_TRUE(is<grant>(reply)) << "nobody woke the waiter: "
                                << (reply ? "" : reply.error().message);
}

}  // namespace
}  // namespace herdlock_test
