// An etcd server that is killed, cut off, compacted and guarded by passwords.
#include <signal.h>

#include <herdlock/herdlock.hpp>

#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

class EtcdTest : public testing::Test {
 protected:
  EtcdTest() { server().flush(); }
  static etcd_server& server() { return etcd_server::shared(); }

  resource const stock{"stock/1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

TEST_F(EtcdTest, AHeldLeaseAndAWaitOutliveARestartOfTheServer) {
  etcd_server own;
  etcd_client holder(own.url());
  etcd_client waiter(own.url());
  auto const first = as<grant>(holder.acquire(stock, alice)).fencing;
  auto bobs = waiter.wait_for(stock, bob);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  own.restart();
  EXPECT_EQ(holder.renew(stock, alice).value(), renew_reply::renewed);
  EXPECT_FALSE(bobs.done());
  EXPECT_EQ(holder.release(stock, alice).value(), release_reply::released);
  auto const reply = waiter.get(bobs);
  ASSERT_TRUE(is<grant>(reply));
  EXPECT_GT(as<grant>(reply).fencing, first);
  EXPECT_EQ(waiter.renew(stock, bob).value(), renew_reply::renewed);
}

TEST_F(EtcdTest, WithoutAServerEveryOperationFailsByItsDeadlineAndNamesTheStore) {
  relay gone(server().port());
  gone.refuse();
  etcd_client c(through(gone, "?timeout=200ms"));
  auto const told = c.acquire(stock, alice).error();
  EXPECT_TRUE(told == errc::unavailable || told == errc::timed_out) << told.message;
  EXPECT_NE(told.message.find("stock/1"), std::string::npos) << told.message;
  EXPECT_NE(told.message.find(std::to_string(gone.port())), std::string::npos) << told.message;
  EXPECT_TRUE(c.renew(stock, alice).has_error());
  EXPECT_TRUE(c.release(stock, alice).has_error());
  EXPECT_TRUE(c.inspect(stock).has_error());
  gone.accept();
  EXPECT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
}

TEST_F(EtcdTest, AServerThatHangsIsTimedOut) {
  relay path(server().port());
  etcd_client c(through(path, "?timeout=300ms"));
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
  path.stop_forwarding();
  auto const told = c.renew(stock, alice).error();
  EXPECT_TRUE(told == errc::unavailable || told == errc::timed_out) << told.message;
  path.resume_forwarding();
  EXPECT_TRUE(eventually([&] { return c.renew(stock, alice).has_value(); }));
}

// B7: wherever the connection is cut, an acquire finds what its first attempt left behind, nobody
// is granted the resource twice, and nothing remains.
class EtcdCutTest : public EtcdTest, public testing::WithParamInterface<direction> {};

INSTANTIATE_TEST_SUITE_P(ways, EtcdCutTest,
                         testing::Values(direction::to_server, direction::to_client),
                         [](auto const& one) {
                           return one.param == direction::to_server ? "Requests" : "Answers";
                         });

TEST_P(EtcdCutTest, AConnectionCutAnywhereLeavesNoGhostAndNoSecondGrant) {
  relay path(server().port());
  etcd_client c(through(path));
  etcd_client judge(server().url());
  fencing_token last{};
  for (std::size_t bytes = 0; bytes < 2400; bytes += 97) {
    owner_token const mine = owner_token::generate();
    path.cut_after_bytes(GetParam(), bytes);
    auto const reply = c.acquire(stock, mine);
    ASSERT_TRUE(is<grant>(reply)) << bytes;
    ASSERT_GT(as<grant>(reply).fencing, last) << bytes;
    last = as<grant>(reply).fencing;
    ASSERT_TRUE(is<busy>(judge.acquire(stock, bob))) << bytes;
    ASSERT_EQ(c.renew(stock, mine).value(), renew_reply::renewed) << bytes;
    ASSERT_EQ(c.release(stock, mine).value(), release_reply::released) << bytes;
    ASSERT_FALSE(judge.inspect(stock).value().has_value()) << bytes;
    path.disarm();
  }
}

TEST_F(EtcdTest, AWaiterWhoseConnectionsAreCutIsStillTheNext) {
  relay path(server().port());
  etcd_client holder(server().url());
  etcd_client waiter(through(path));
  for (int i = 0; i < 5; ++i) {
    as<grant>(holder.acquire(stock, alice));
    auto bobs = waiter.wait_for(stock, bob);
    ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
    path.cut_all();
    ASSERT_EQ(holder.release(stock, alice).value(), release_reply::released);
    ASSERT_TRUE(is<grant>(waiter.get(bobs)));
    ASSERT_EQ(waiter.release(stock, bob).value(), release_reply::released);
  }
}

// The watch sees no revision but the present ones; when the stream was cut, what was compacted
// meanwhile is not asked for.
TEST_F(EtcdTest, ACompactionDoesNotDisturbAWait) {
  relay path(server().port());
  etcd_client holder(server().url());
  etcd_client waiter(through(path));
  as<grant>(holder.acquire(stock, alice));
  auto bobs = waiter.wait_for(stock, bob);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  path.refuse();
  ASSERT_EQ(holder.release(stock, alice).value(), release_reply::released);
  as<grant>(holder.acquire(resource("another"), alice));
  auto const text = server().member().ctl({"get", "another/", "--prefix", "--write-out=json"});
  auto const at = text.find("\"revision\":") + 11;
  server().member().ctl(
      {"compact", "--physical", text.substr(at, text.find_first_of(",}", at) - at)});
  path.accept();
  EXPECT_TRUE(is<grant>(waiter.get(bobs)));
}

// B1: an operator deleted the key with etcdctl.
TEST_F(EtcdTest, AHolderWhoseKeyWasDeletedIsToldAtItsNextRenewal) {
  etcd_client c(server().url());
  as<grant>(c.acquire(stock, alice));
  server().member().ctl({"del", "stock/1/", "--prefix"});
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
}

// B15: the waiter's own place is gone; it must not believe that it was granted, nor wait for ever.
TEST_F(EtcdTest, AWaiterWhoseKeyWasDeletedJoinsAgain) {
  etcd_client holder(server().url());
  etcd_client waiter(server().url());
  auto const first = as<grant>(holder.acquire(stock, alice)).fencing;
  auto bobs = waiter.wait_for(stock, bob, 1s);
  ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
  server().member().ctl({"del", "stock/1/", "--prefix"});
  auto const reply = waiter.get(bobs);
  ASSERT_TRUE(is<grant>(reply));
  EXPECT_GT(as<grant>(reply).fencing, first);
  EXPECT_EQ(waiter.renew(stock, bob, 1s).value(), renew_reply::renewed) << "no key, no grant";
  EXPECT_EQ(holder.renew(stock, alice).value(), renew_reply::lost);
}

// A lease that was detached and restored: the first process's own count of the ttl does not end it.
TEST_F(EtcdTest, AnotherHandleThatRenewsKeepsTheLeasePastTheFirstOnesTtl) {
  etcd_client before(server().url());
  etcd_client after(server().url());
  as<grant>(before.acquire(stock, alice, 400ms));
  ASSERT_EQ(after.renew(stock, alice, 1min).value(), renew_reply::renewed);
  auto const end = clock::now() + 600ms;
  ASSERT_TRUE(before.run_until([&] { return clock::now() > end; }));
  EXPECT_TRUE(is<busy>(before.acquire(stock, bob)));
  EXPECT_EQ(after.release(stock, alice).value(), release_reply::released);
}

// One release is told to the next and to the one behind it, whatever their number.
TEST_F(EtcdTest, AReleaseWithAHundredWaitersIsToldToTwoOfThem) {
  constexpr int waiters = 100;
  constexpr double few = 12;
  etcd_client holder(server().url());
  etcd_client c(server().url());
  as<grant>(holder.acquire(stock, alice));
  std::vector<owner_token> owners;
  std::vector<pending<acquire_reply>> waiting;
  for (int i = 0; i < waiters; ++i) {
    owners.push_back(owner_token::generate());
    waiting.push_back(c.wait_for(stock, owners.back()));
  }
  // Asking through the same handle lets its waiters go on meanwhile.
  ASSERT_TRUE(eventually([&] { return c.waiting(stock) == waiters; }));
  int asked = 0;  // by us, in between
  auto const let_them_go_on = [&] {
    c.waiting(stock);
    ++asked;
  };
  auto const handled = [](std::string const& method) {
    return server().metric("grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"" + method +
                           "\",grpc_service=\"etcdserverpb.KV\",grpc_type=\"unary\"}");
  };
  auto const requests = [&] { return handled("Txn") + handled("Range") - asked; };
  // Every watch stands when the number has settled.
  double so_far = -1;
  ASSERT_TRUE(eventually([&] {
    let_them_go_on();
    double const before = std::exchange(so_far, requests());
    return before == so_far;
  }));
  auto const events = [] { return server().metric("etcd_debugging_mvcc_events_total"); };
  auto const events_before = events();
  auto const requests_before = requests();
  holder.release(stock, alice).value();
  ASSERT_TRUE(is<grant>(c.get(waiting.front())));
  EXPECT_LE(events() - events_before, 2);
  EXPECT_LE(requests() - requests_before, few);
  for (std::size_t i = 1; i < waiting.size(); ++i) EXPECT_FALSE(waiting[i].done());
}

// ------------------------------------------------------------------------------- processes

class EtcdProcessTest : public EtcdTest {
 protected:
  child_process holder(milliseconds ttl) {
    return child_process({.argv = {HERDLOCK_LOCK_HOLDER, server().url(), stock.str(),
                                   std::to_string(ttl.count()), "hold"}});
  }
  static bool said(child_process const& child, std::string const& text) {
    return child.output().find(text) != std::string::npos;
  }
  static std::uint64_t fencing_of(child_process const& child) {
    EXPECT_TRUE(eventually([&] { return said(child, "held ") && said(child, "\n"); }))
        << child.errors();
    auto const text = child.output();
    return std::stoull(text.substr(text.find("held ") + 5));
  }

  store store_ = open_store(server().url());
  lock const where{store_, stock.str()};
};

TEST_F(EtcdProcessTest, AKilledHolderIsSucceededWhenEtcdsLeaseEnds) {
  auto child = holder(2s);
  auto const before = fencing_of(child);
  EXPECT_FALSE(where.try_acquire({.ttl = 10s}));
  auto const killed = clock::now();
  child.kill();
  auto mine = where.acquire({.ttl = 10s, .wait = patience});
  ASSERT_TRUE(mine);
  EXPECT_GT(mine->fencing().value, before);
  auto const took = std::chrono::duration_cast<milliseconds>(clock::now() - killed);
  RecordProperty("take_over_ms", static_cast<int>(took.count()));
}

// B1, B17: a process that was stopped past its lease knows that it lost before it can act.
TEST_F(EtcdProcessTest, AStoppedHolderKnowsThatItLostBeforeItActs) {
  auto child = holder(1s);
  auto const before = fencing_of(child);
  child.pause();
  auto mine = where.acquire({.ttl = 30s, .wait = patience});
  ASSERT_TRUE(mine);
  EXPECT_GT(mine->fencing().value, before);
  child.signal(SIGUSR1);
  child.resume();
  ASSERT_TRUE(eventually([&] { return said(child, "valid "); }));
  EXPECT_TRUE(said(child, "valid 0")) << child.output();
  ASSERT_TRUE(eventually([&] { return said(child, "lost"); }));
  child.signal(SIGTERM);
  ASSERT_TRUE(child.wait());
  EXPECT_TRUE(mine->valid());
  EXPECT_EQ(mine->release(), release_reply::released);
}

}  // namespace
}  // namespace herdlock_test
