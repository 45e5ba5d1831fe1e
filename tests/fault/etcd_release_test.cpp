// Releases, renewals and second requests of which somebody did not hear the end.
#include <algorithm>

#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

class EtcdReleaseTest : public testing::Test {
 protected:
  EtcdReleaseTest() { server().flush(); }
  static etcd_server& server() { return etcd_server::shared(); }

  etcd_client judge{server().url()};
  resource const stock{"stock/1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

// B7: the caller has gone, the request goes on; whoever asks again hears what came of it.
TEST_F(EtcdReleaseTest, AReleaseAfterACancelledOneSaysReleased) {
  etcd_client c(server().url());
  as<grant>(c.acquire(stock, alice));
  auto first = c.start<release_reply>(
      [&](auto done) { c.store().leases->release(stock, alice, std::move(done)); });
  first.cancel();
  ASSERT_TRUE(c.run_until([&] { return first.done() && !judge.inspect(stock).value(); }));
  EXPECT_TRUE(first.outcome().has_error());
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  // Once more is once too often, and who never held it released nothing.
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
  EXPECT_EQ(c.release(stock, bob).value(), release_reply::lost);
}

TEST_F(EtcdReleaseTest, AReleaseAfterAnUnansweredOneSaysReleased) {
  relay path(server().port());
  etcd_client c(through(path, "?timeout=1s"));
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
  path.stop_forwarding();
  EXPECT_TRUE(c.release(stock, alice).has_error());
  path.resume_forwarding();
  ASSERT_TRUE(c.run_until([&] { return !judge.inspect(stock).value(); }));
  result<release_reply> again = release_reply::lost;
  ASSERT_TRUE(eventually([&] { return (again = c.release(stock, alice)).has_value(); }));
  EXPECT_EQ(again.value(), release_reply::released);
}

// The first answer says that it has gone: whatever is cut after that, it was not this release.
TEST_F(EtcdReleaseTest, AReleaseOfWhatAnOperatorTookSaysLostHoweverItIsCut) {
  relay path(server().port());
  etcd_client c(through(path));
  EXPECT_EQ(c.release(stock, bob).value(), release_reply::lost);
  auto const one_answer = path.bytes(direction::to_client);
  as<grant>(c.acquire(stock, alice));
  EXPECT_EQ(judge.force_release(stock).value(), release_reply::released);
  path.cut_after_bytes(direction::to_client, one_answer * 3 / 2);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
}

// The waiter's requests need several turns on a slow path; the release needs one.
TEST_F(EtcdReleaseTest, ARequestToJoinDoesNotHoldUpTheRelease) {
  relay path(server().port());
  etcd_client c(through(path));
  auto const first = as<grant>(c.acquire(stock, alice)).fencing.value;
  path.set_delay(100ms);
  auto bobs = c.wait_for(stock, bob);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  // The deletion is the revision between the two.
  auto const reply = c.get(bobs);
  EXPECT_EQ(as<grant>(reply).fencing.value, first + 2);
}

// The key is of a lease that another handle keeps alive.
TEST_F(EtcdReleaseTest, AGrantThatWasHandedOutIsNotEndedWhenItsSecondRequestIsCancelled) {
  etcd_client before(server().url());
  etcd_client after(server().url());
  auto const first = as<grant>(before.acquire(stock, alice)).fencing;
  EXPECT_EQ(as<grant>(after.acquire(stock, alice)).fencing, first);
  for (int i = 0; i < 5; ++i) {
    auto again = after.start_acquire({stock, alice, 1min, 0ms});
    for (int turns = 0; turns < i; ++turns) after.inspect(resource("another"));
    again.cancel();
    ASSERT_TRUE(after.run_until([&] { return again.done(); }));
  }
  after.close();
  EXPECT_TRUE(is<busy>(judge.acquire(stock, bob)));
  EXPECT_EQ(before.renew(stock, alice).value(), renew_reply::renewed);
  EXPECT_EQ(before.release(stock, alice).value(), release_reply::released);
}

// Another ttl means another lease of etcd: wherever it is cut, the key is with one of the two.
TEST_F(EtcdReleaseTest, ARenewalWithoutAnAnswerKeepsItsKey) {
  relay path(server().port());
  etcd_client c(through(path, "?timeout=1s"));
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
  auto const first = judge.inspect(stock).value()->fencing.value;
  path.stop_forwarding();
  EXPECT_TRUE(c.renew(stock, alice, 50s).has_error());
  path.resume_forwarding();
  ASSERT_TRUE(eventually([&] { return c.renew(stock, alice, 40s).has_value(); }));
  milliseconds ttl = 40s;
  for (auto way : {direction::to_server, direction::to_client}) {
    for (std::size_t bytes = 0; bytes < 1600; bytes += 161) {
      path.cut_after_bytes(way, bytes);
      ttl += 1s;
      ASSERT_EQ(c.renew(stock, alice, ttl).value(), renew_reply::renewed) << bytes;
      path.disarm();
      auto const seen = judge.inspect(stock).value();
      ASSERT_TRUE(seen.has_value()) << bytes;
      EXPECT_EQ(seen->fencing.value, first) << bytes;
    }
  }
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
}

// Leases are used again: one that was ended meanwhile is noticed before anything hangs on it.
TEST_F(EtcdReleaseTest, AnIdleLeaseThatAnOperatorRevokedIsNotUsedAgain) {
  etcd_client c(server().url());
  for (int i = 0; i < 2; ++i) {
    as<grant>(c.acquire(stock, alice));
    ASSERT_EQ(c.release(stock, alice).value(), release_reply::released);
    server().revoke_all_leases();
  }
  as<grant>(c.acquire(stock, bob));
  EXPECT_TRUE(is<busy>(judge.acquire(stock, alice)));
  EXPECT_EQ(c.renew(stock, bob).value(), renew_reply::renewed);
}

// A waiter finds out when it joins: one after the other would take all of its attempts.
TEST_F(EtcdReleaseTest, AWaiterJoinsAlthoughAllIdleLeasesWereRevoked) {
  constexpr int many = 5;
  etcd_client c(server().url());
  for (int i = 0; i < many; ++i) {
    as<grant>(c.acquire(resource("stock/" + std::to_string(i)), alice));
  }
  for (int i = 0; i < many; ++i) {
    ASSERT_EQ(c.release(resource("stock/" + std::to_string(i)), alice).value(),
              release_reply::released);
  }
  server().revoke_all_leases();
  auto bobs = c.wait_for(stock, bob);
  EXPECT_TRUE(is<grant>(c.get(bobs)));
  EXPECT_EQ(c.renew(stock, bob).value(), renew_reply::renewed);
}

// B15: the waiter's own lease is revoked, and with it its place; it joins again at the end.
TEST_F(EtcdReleaseTest, AWaiterWhoseLeaseWasRevokedWaitsOn) {
  etcd_client holder(server().url());
  etcd_client waiter(server().url());
  as<grant>(holder.acquire(stock, alice));
  auto const before = server().leases();
  auto bobs = waiter.wait_for(stock, bob, 1s);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  for (auto const& lease : server().leases()) {
    if (std::find(before.begin(), before.end(), lease) == before.end()) {
      server().revoke(lease);
    }
  }
  ASSERT_EQ(holder.waiting(stock), 0u);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  EXPECT_FALSE(bobs.done());
  EXPECT_EQ(holder.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(waiter.get(bobs)));
  EXPECT_EQ(waiter.renew(stock, bob, 1s).value(), renew_reply::renewed) << "no key, no grant";
}

}  // namespace
}  // namespace herdlock_test
