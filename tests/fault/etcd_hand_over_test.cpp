// From one to the next: what the next one needs to know, and what must not pass for it.
#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

class EtcdHandOverTest : public testing::Test {
 protected:
  EtcdHandOverTest() { server().flush(); }
  static etcd_server& server() { return etcd_server::shared(); }

  static double looks() {
    return server().metric(
        "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Range\","
        "grpc_service=\"etcdserverpb.KV\",grpc_type=\"unary\"}");
  }
  static int writes_of(std::string const& key) {
    auto const text = server().member().ctl({"get", key, "--write-out=json"});
    static constexpr std::string_view field = "\"version\":";
    auto const at = text.find(field);
    return at == text.npos ? 0 : std::atoi(text.c_str() + at + field.size());
  }
  static constexpr int looks_to_settle = 10;
  /// Lets it finish what it began: its watch, and the look behind that.
  void settle(etcd_client& one) const {
    for (int i = 0; i < looks_to_settle; ++i) one.inspect(resource("another"));
  }
  /// Alice held, Bob got it after he had waited, and Carol waits behind him.
  pending<acquire_reply> carol_behind_bob(milliseconds ttl = 1min) {
    as<grant>(holder.acquire(stock, alice));
    auto bobs = waiter.wait_for(stock, bob);
    EXPECT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
    auto carols = last.wait_for(stock, carol, ttl);
    EXPECT_TRUE(last.run_until([&] { return holder.waiting(stock) == 2; }));
    settle(last);
    EXPECT_EQ(holder.release(stock, alice).value(), release_reply::released);
    EXPECT_TRUE(is<grant>(waiter.get(bobs)));
    settle(waiter);
    return carols;
  }
  std::string key_of_youngest() const {
    auto const text = server().member().ctl({"get", "stock/1/", "--prefix", "--keys-only",
                                             "--sort-by=CREATE", "--order=DESCEND", "--limit=1"});
    return text.substr(0, text.find('\n'));
  }

  etcd_client holder{server().url()};
  etcd_client waiter{server().url()};
  etcd_client last{server().url()};
  resource const stock{"stock/1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
  owner_token const carol = owner_token::generate();
};

// Once in a while it may look, when the key goes before it is ready. Who came behind others looks
// while the one before it holds.
TEST_F(EtcdHandOverTest, TheNextIsGrantedWithoutALook) {
  constexpr int most = 20;
  int without_second = 0;
  int without_third = 0;
  for (int i = 0; i < most && (without_second == 0 || without_third == 0); ++i) {
    as<grant>(holder.acquire(stock, alice));
    auto bobs = waiter.wait_for(stock, bob);
    ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
    auto carols = last.wait_for(stock, carol);
    ASSERT_TRUE(last.run_until([&] { return holder.waiting(stock) == 2; }));
    settle(waiter);
    settle(last);
    auto before = looks();
    ASSERT_EQ(holder.release(stock, alice).value(), release_reply::released);
    auto const second = waiter.get(bobs);
    if (looks() == before) ++without_second;
    ASSERT_TRUE(is<grant>(second));
    settle(last);
    before = looks();
    ASSERT_EQ(waiter.release(stock, bob).value(), release_reply::released);
    auto const third = last.get(carols);
    if (looks() == before) ++without_third;
    ASSERT_TRUE(is<grant>(third));
    ASSERT_GT(as<grant>(third).fencing, as<grant>(second).fencing);
    ASSERT_EQ(last.renew(stock, carol).value(), renew_reply::renewed);
    ASSERT_EQ(last.release(stock, carol).value(), release_reply::released);
  }
  EXPECT_GT(without_second, 0);
  EXPECT_GT(without_third, 0);
}

// The lease of before is still proved for longer than a waiter's need be.
TEST_F(EtcdHandOverTest, AWaiterJoinsWithAnIdleLeaseAsItIs) {
  auto const kept_alive = [&] { return server().metric("etcd_debugging_lease_renewed_total"); };
  as<grant>(waiter.acquire(stock, bob));
  ASSERT_EQ(waiter.release(stock, bob).value(), release_reply::released);
  as<grant>(holder.acquire(stock, alice));
  auto const before = kept_alive();
  auto bobs = waiter.wait_for(stock, bob);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  settle(waiter);
  EXPECT_EQ(kept_alive(), before);
  ASSERT_EQ(holder.release(stock, alice).value(), release_reply::released);
  ASSERT_TRUE(is<grant>(waiter.get(bobs)));
}

// With the same lease, kept alive by then.
TEST_F(EtcdHandOverTest, AWaitThatIsOverAtOnceIsForTheWholeTtl) {
  for (int i = 0; i < 2; ++i) {
    auto bobs = waiter.wait_for(stock, bob, 30s);
    auto const granted = as<grant>(waiter.get(bobs));
    ASSERT_TRUE(granted.validity);
    EXPECT_EQ(granted.validity->ttl, 30s) << i;
    ASSERT_EQ(waiter.release(stock, bob).value(), release_reply::released);
  }
}

// B15: one request of an operator takes both keys away.
TEST_F(EtcdHandOverTest, AKeyThatGoesTogetherWithTheFirstIsNotGranted) {
  for (int i = 0; i < 5; ++i) {
    owner_token const mine = owner_token::generate();
    as<grant>(holder.acquire(stock, owner_token::generate()));
    auto waits = waiter.wait_for(stock, mine);
    ASSERT_TRUE(waiter.run_until([&] { return last.waiting(stock) == 1; }));
    settle(waiter);
    server().member().ctl({"del", "stock/1/", "--prefix"});
    ASSERT_TRUE(is<grant>(waiter.get(waits)));
    EXPECT_EQ(waiter.renew(stock, mine).value(), renew_reply::renewed) << "no key, no grant";
    ASSERT_EQ(waiter.release(stock, mine).value(), release_reply::released);
  }
}

// Nor one that went before.
TEST_F(EtcdHandOverTest, AWaiterWhoseKeyAloneWasDeletedJoinsAgainAtOnce) {
  as<grant>(holder.acquire(stock, alice));
  auto bobs = waiter.wait_for(stock, bob);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  settle(waiter);
  auto const key = key_of_youngest();
  server().member().ctl({"del", key});
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  EXPECT_EQ(key_of_youngest(), key);
  EXPECT_FALSE(bobs.done());
  ASSERT_EQ(holder.release(stock, alice).value(), release_reply::released);
  ASSERT_TRUE(is<grant>(waiter.get(bobs)));
  EXPECT_EQ(waiter.renew(stock, bob).value(), renew_reply::renewed) << "no key, no grant";
}

TEST_F(EtcdHandOverTest, AWaiterInBetweenThatGoesHandsNothingOver) {
  as<grant>(holder.acquire(stock, alice));
  auto bobs = waiter.wait_for(stock, bob);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  auto const key = key_of_youngest();
  auto carols = last.wait_for(stock, carol);
  ASSERT_TRUE(last.run_until([&] { return holder.waiting(stock) == 2; }));
  settle(last);
  server().member().ctl({"del", key});
  settle(last);
  EXPECT_FALSE(carols.done());
  EXPECT_EQ(holder.renew(stock, alice).value(), renew_reply::renewed);
  ASSERT_EQ(holder.release(stock, alice).value(), release_reply::released);
  ASSERT_TRUE(is<grant>(last.get(carols)));
  EXPECT_EQ(last.renew(stock, carol).value(), renew_reply::renewed);
  EXPECT_FALSE(bobs.done());
}

// B17: the key before its own goes while it is stopped, and then its own, with its lease.
TEST_F(EtcdHandOverTest, AWaiterThatWasStoppedPastItsLeaseBelievesNoOldNews) {
  as<grant>(holder.acquire(stock, alice));
  auto bobs = waiter.wait_for(stock, bob, 1s);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  settle(waiter);
  // From here on nobody runs the waiter.
  ASSERT_EQ(holder.release(stock, alice).value(), release_reply::released);
  ASSERT_TRUE(eventually([&] { return !holder.inspect(stock).value(); }));
  auto const between = as<grant>(holder.acquire(stock, carol)).fencing;
  ASSERT_TRUE(waiter.run_until([&] { return bobs.done() || holder.waiting(stock) == 1; }));
  ASSERT_FALSE(bobs.done()) << "granted by its key of before";
  ASSERT_EQ(holder.release(stock, carol).value(), release_reply::released);
  auto const reply = waiter.get(bobs);
  ASSERT_TRUE(is<grant>(reply));
  EXPECT_GT(as<grant>(reply).fencing, between);
}

// B15: a write of its key is no news of the one before it. Carol comes again elsewhere, and goes on
// with her key on a lease of that handle.
TEST_F(EtcdHandOverTest, AKeyThatTheSameOwnerWroteElsewhereIsNotGranted) {
  auto carols = carol_behind_bob();
  auto const key = key_of_youngest();
  auto elsewhere = holder.wait_for(stock, carol);
  settle(holder);
  ASSERT_TRUE(holder.run_until([&] { return writes_of(key) > 1; }));
  settle(holder);
  settle(last);
  EXPECT_FALSE(carols.done()) << "Bob holds it";
  EXPECT_FALSE(elsewhere.done()) << "Bob holds it";
  ASSERT_EQ(waiter.release(stock, bob).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(holder.get(elsewhere)));
  EXPECT_TRUE(is<grant>(last.get(carols)));
}

// B17: the one before her goes while she is stopped, and then her lease ends.
TEST_F(EtcdHandOverTest, WhoCameBehindOthersAndWasStoppedPastItsLeaseBelievesNoOldNews) {
  auto carols = carol_behind_bob(1s);
  // From here on nobody runs Carol.
  ASSERT_EQ(waiter.release(stock, bob).value(), release_reply::released);
  ASSERT_TRUE(eventually([&] { return !holder.inspect(stock).value(); }));
  auto const between = as<grant>(holder.acquire(stock, alice)).fencing;
  ASSERT_TRUE(last.run_until([&] { return carols.done() || holder.waiting(stock) == 1; }));
  ASSERT_FALSE(carols.done()) << "granted by her key of before";
  ASSERT_EQ(holder.release(stock, alice).value(), release_reply::released);
  auto const reply = last.get(carols);
  ASSERT_TRUE(is<grant>(reply));
  EXPECT_GT(as<grant>(reply).fencing, between);
}

// It may still delete.
TEST_F(EtcdHandOverTest, AServerWithoutSpaceReleasesAndTheNextHasIt) {
  auto carols = carol_behind_bob();
  auto const alarm = [](std::string const& what) {
    run_command({.argv = {find_program("curl", "curl"), "--silent", "--fail", "-d",
                          R"({"alarm":"NOSPACE","action":")" + what + "\"}",
                          "http://127.0.0.1:" + std::to_string(server().port()) +
                              "/v3/maintenance/alarm"}});
  };
  alarm("ACTIVATE");
  auto const released = waiter.release(stock, bob);
  auto const carols_now = last.get(carols);
  alarm("DEACTIVATE");
  ASSERT_TRUE(released.has_value()) << released.error().message;
  EXPECT_EQ(*released, release_reply::released);
  EXPECT_TRUE(is<grant>(carols_now));
}

// B8: the next one has gone by then.
TEST_F(EtcdHandOverTest, WhoGaveUpIsSkipped) {
  auto carols = carol_behind_bob();
  owner_token const dave = owner_token::generate();
  auto daves = holder.wait_for(stock, dave);
  ASSERT_TRUE(holder.run_until([&] { return waiter.waiting(stock) == 2; }));
  carols.cancel();
  ASSERT_TRUE(last.run_until([&] { return carols.done() && waiter.waiting(stock) == 1; }));
  ASSERT_EQ(waiter.release(stock, bob).value(), release_reply::released);
  ASSERT_TRUE(is<grant>(holder.get(daves)));
  EXPECT_EQ(holder.renew(stock, dave).value(), renew_reply::renewed);
}

// The key that it watched is still there, and would be told of to nobody.
TEST_F(EtcdHandOverTest, WhoGivesUpLeavesNoWatchBehind) {
  as<grant>(holder.acquire(stock, alice));
  auto bobs = waiter.wait_for(stock, bob);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  // A stream without a watch of use would end.
  auto stays = last.wait_for(stock, owner_token::generate());
  ASSERT_TRUE(last.run_until([&] { return holder.waiting(stock) == 2; }));
  for (int i = 0; i < 5; ++i) {
    auto carols = last.wait_for(stock, carol);
    ASSERT_TRUE(last.run_until([&] { return holder.waiting(stock) == 3; }));
    settle(last);
    carols.cancel();
    ASSERT_TRUE(last.run_until([&] { return carols.done() && holder.waiting(stock) == 2; }));
  }
  auto const watches = [] { return server().metric("etcd_debugging_mvcc_watcher_total"); };
  // That of the one who stays, and Bob's.
  EXPECT_TRUE(last.run_until([&] { return watches() <= 2; })) << watches();
  EXPECT_FALSE(stays.done());
}

// A release that arrives late finds the key that its owner acquired anew, elsewhere.
TEST_F(EtcdHandOverTest, ALateReleaseDoesNotTouchAKeyAcquiredAnew) {
  relay path(server().port());
  etcd_client slow(through(path, "?timeout=60s"));
  as<grant>(slow.acquire(stock, alice));
  path.stop_forwarding();
  auto late = slow.start<release_reply>(
      [&](auto done) { slow.store().leases->release(stock, alice, std::move(done)); });
  int turns = 0;
  slow.run_until([&] { return ++turns > 10; });
  ASSERT_EQ(holder.release(stock, alice).value(), release_reply::released);
  auto const anew = as<grant>(holder.acquire(stock, alice)).fencing;
  path.resume_forwarding();
  EXPECT_EQ(slow.get(late).value(), release_reply::lost);
  auto const seen = last.inspect(stock).value();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->fencing, anew);
  EXPECT_EQ(holder.renew(stock, alice).value(), renew_reply::renewed);
}

}  // namespace
}  // namespace herdlock_test
