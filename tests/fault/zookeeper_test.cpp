// Servers, connections and holders that are stopped, killed and cut off.
#include <signal.h>

#include <herdlock/herdlock.hpp>
#include <support/free_port.hpp>
#include <support/relay.hpp>
#include <support/zookeeper_server.hpp>

#include "../contract/fixture.hpp"
#include "zookeeper_ports.hpp"

namespace herdlock_test {
namespace {

std::string const stock = "stock/1";

class zookeeper_fault : public testing::Test {
 protected:
  static std::string through(relay const& between, std::string const& chroot) {
    return "zk://127.0.0.1:" + std::to_string(between.port()) + chroot;
  }
  static bool said(child_process const& child, std::string const& text) {
    return child.output().find(text) != std::string::npos;
  }

  zookeeper_server& server_ = zookeeper_server::shared();
  std::string const chroot_ = server_.fresh_chroot();
  std::string const url_ = server_.url(chroot_);
  owner_token const alice_ = owner_token::generate();
  owner_token const bob_ = owner_token::generate();
};

// A restart within the session's time keeps leases and places in the queue.
TEST_F(zookeeper_fault, AServerThatIsKilledAndRestartedKeepsTheHolderAndTheQueue) {
  zookeeper_ports a(url_ + "?timeout=20s&session_timeout=20s");
  zookeeper_ports b(url_ + "?timeout=20s&session_timeout=20s");
  auto const first = fencing_of(a.acquire(stock, alice_));
  auto bobs = b.start_acquire({resource(stock), bob_, 1min, 1min});
  ASSERT_TRUE(eventually([&] { return a.waiting(stock) == 1; }));
  server_.member(0).kill();
  server_.restart();
  EXPECT_EQ(a.renew(stock, alice_).value(), renew_reply::renewed);
  EXPECT_EQ(a.waiting(stock), 1u);
  EXPECT_EQ(a.release(stock, alice_).value(), release_reply::released);
  EXPECT_GT(fencing_of(bobs.get()), first);
}

TEST_F(zookeeper_fault, AnOperationWithoutAServerEndsByItsDeadlineAndNamesTheStore) {
  zookeeper_ports a("zk://nobody:secret@127.0.0.1:1/x?timeout=200ms");
  auto const reply = a.acquire(stock, alice_);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error(), errc::timed_out);
  EXPECT_NE(reply.error().message.find("127.0.0.1:1/x"), std::string::npos);
  EXPECT_EQ(reply.error().message.find("secret"), std::string::npos);
}

// The connection ends after each byte count of the exchange in turn, in either direction: whatever
// was lost, the owner has one node, and nobody else a grant.
TEST_F(zookeeper_fault, AConnectionCutAnywhereLeavesOneGrantAndNoGhost) {
  relay between(server_.port());
  zookeeper_ports a(through(between, chroot_) + "?timeout=20s&session_timeout=5s");
  zookeeper_ports b(url_);
  fencing_token last = fencing_of(b.acquire(stock, bob_));
  ASSERT_EQ(b.release(stock, bob_).value(), release_reply::released);
  ASSERT_TRUE(a.inspect(stock).has_value());
  for (auto way : {direction::to_server, direction::to_client}) {
    for (std::size_t bytes : {0, 1, 30, 60, 100, 130, 170, 200, 240, 280, 320}) {
      auto const owner = owner_token::generate();
      between.cut_after_bytes(way, bytes);
      auto const reply = a.acquire(stock, owner, 1min, 10s);
      ASSERT_TRUE(granted(reply)) << reply.error().message;
      EXPECT_GT(fencing_of(reply), last);
      last = fencing_of(reply);
      EXPECT_FALSE(granted(b.acquire(stock, bob_)));
      EXPECT_EQ(b.waiting(stock), 0u) << "a ghost behind the holder";
      EXPECT_EQ(a.release(stock, owner).value(), release_reply::released);
      between.disarm();
      EXPECT_FALSE(b.inspect(stock).value().has_value()) << "a ghost after the release";
    }
  }
}

TEST_F(zookeeper_fault, AReleaseWhoseReplyIsLostIsRepeated) {
  relay between(server_.port());
  zookeeper_ports a(through(between, chroot_) + "?timeout=20s");
  zookeeper_ports b(url_);
  for (auto way : {direction::to_server, direction::to_client}) {
    ASSERT_TRUE(granted(a.acquire(stock, alice_)));
    between.cut_after_bytes(way, 0);
    EXPECT_EQ(a.release(stock, alice_).value(), release_reply::released);
    EXPECT_FALSE(b.inspect(stock).value().has_value());
  }
}

// Nothing runs the holder's executor, and the connection ends with the removal on it. The C client
// makes another one, and the session lives on.
TEST_F(zookeeper_fault, AnExpiryWhoseRemovalIsLostIsRepeated) {
  relay between(server_.port());
  zookeeper_ports b(url_);
  for (auto way : {direction::to_server, direction::to_client}) {
    client a({"zookeeper", {}, &open_zookeeper},
             through(between, chroot_) + "?session_timeout=40s");
    ASSERT_TRUE(is<grant>(a.acquire(resource(stock), alice_, 500ms)));
    between.cut_after_bytes(way, 0);
    EXPECT_TRUE(eventually([&] { return granted(b.acquire(stock, bob_)); }));
    EXPECT_FALSE(between.cut_pending());
    EXPECT_EQ(b.release(stock, bob_).value(), release_reply::released);
  }
}

// The same with a release, behind which nobody runs the executor any more: the ttl ends it.
TEST_F(zookeeper_fault, AReleaseThatIsLostBesideABlockedExecutorEndsWithTheTtl) {
  relay between(server_.port());
  zookeeper_ports b(url_);
  client a({"zookeeper", {}, &open_zookeeper}, through(between, chroot_) + "?session_timeout=40s");
  ASSERT_TRUE(is<grant>(a.acquire(resource(stock), alice_, 2s)));
  between.cut_after_bytes(direction::to_server, 0);
  auto const releasing = a.start<release_reply>(
      [&](auto done) { a.store().leases->release(resource(stock), alice_, std::move(done)); });
  ASSERT_TRUE(a.run_until([&] { return !between.cut_pending(); }));
  EXPECT_FALSE(releasing.done());
  EXPECT_TRUE(eventually([&] { return granted(b.acquire(stock, bob_)); }));
}

// B1: the session ended while we could not hear of it.
TEST_F(zookeeper_fault, AHolderWhoseSessionWasEndedByTheServerHasLost) {
  relay between(server_.port());
  zookeeper_ports a(through(between, chroot_) + "?timeout=20s&session_timeout=1s");
  zookeeper_ports b(url_ + "?session_timeout=20s");
  auto const first = fencing_of(a.acquire(stock, alice_));
  between.stop_forwarding();
  auto const second = b.acquire(stock, bob_, 1min, 20s);
  EXPECT_GT(fencing_of(second), first);
  between.cut_all();
  between.resume_forwarding();
  EXPECT_EQ(a.renew(stock, alice_).value(), renew_reply::lost);
  EXPECT_EQ(a.release(stock, alice_).value(), release_reply::lost);
  EXPECT_EQ(b.renew(stock, bob_).value(), renew_reply::renewed);
}

// A waiter's place ends with its session; the wait does not (B15).
TEST_F(zookeeper_fault, AWaiterWhoseSessionWasEndedWaitsOnInANewOne) {
  relay between(server_.port());
  zookeeper_ports a(through(between, chroot_) + "?timeout=20s&session_timeout=1s");
  zookeeper_ports b(url_ + "?session_timeout=20s");
  auto const first = fencing_of(b.acquire(stock, bob_));
  auto alices = a.start_acquire({resource(stock), alice_, 1min, 1min});
  ASSERT_TRUE(eventually([&] { return b.waiting(stock) == 1; }));
  between.stop_forwarding();
  ASSERT_TRUE(eventually([&] { return b.waiting(stock) == 0; }));
  between.cut_all();
  between.resume_forwarding();
  ASSERT_TRUE(eventually([&] { return b.waiting(stock) == 1; }));
  EXPECT_EQ(b.release(stock, bob_).value(), release_reply::released);
  EXPECT_GT(fencing_of(alices.get()), first);
}

// The ttl asked for is a minute; what a session of 2 s proves is less, and valid() knows.
TEST_F(zookeeper_fault, AHolderStoppedPastItsSessionKnowsThatItLostBeforeItActs) {
  child_process child(
      {.argv = {HERDLOCK_LOCK_HOLDER, url_ + "?session_timeout=2s", stock, "60000", "hold"}});
  ASSERT_TRUE(eventually([&] { return said(child, "held "); })) << child.errors();
  child.pause();
  lock const where(open_store(url_ + "?session_timeout=20s"), stock);
  auto mine = where.acquire({.ttl = 30s, .wait = patience});
  ASSERT_TRUE(mine);
  child.signal(SIGUSR1);  // is answered as the first thing after the pause
  child.resume();
  ASSERT_TRUE(eventually([&] { return said(child, "valid "); }));
  EXPECT_TRUE(said(child, "valid 0")) << child.output();
  child.signal(SIGTERM);
  ASSERT_TRUE(child.wait());
  EXPECT_TRUE(said(child, "lost at release")) << child.output();
  EXPECT_TRUE(mine->valid());
  EXPECT_EQ(mine->release(), release_reply::released);
}

TEST_F(zookeeper_fault, AKilledHolderIsSucceededWhenItsSessionEnds) {
  child_process child(
      {.argv = {HERDLOCK_LOCK_HOLDER, url_ + "?session_timeout=1s", stock, "60000", "hold"}});
  ASSERT_TRUE(eventually([&] { return said(child, "held "); })) << child.errors();
  lock const where(open_store(url_ + "?session_timeout=20s"), stock);
  EXPECT_FALSE(where.try_acquire());
  child.kill();
  EXPECT_TRUE(where.acquire({.ttl = 30s, .wait = patience}));
}

// valid_until() never promises more than the session does.
TEST_F(zookeeper_fault, ALongTtlIsProvedForPartOfTheSessionTimeOnly) {
  auto const store = open_store(url_ + "?session_timeout=12s");
  milliseconds const proved = 4s;
  EXPECT_EQ(store.traits().longest_validity, proved);
  auto held = lock(store, stock).try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  EXPECT_LE(held->valid_until(), herdlock::clock::now() + proved);
  EXPECT_THROW(std::ignore = lock(store, "other").try_acquire({.ttl = 1h, .loss_margin = 10min}),
               error);
}

TEST_F(zookeeper_fault, ASessionThatTheServerDoesNotGrantInFullIsRefused) {
  zookeeper_ports a(url_ + "?session_timeout=5m");
  auto const reply = a.acquire(stock, alice_);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error(), errc::invalid_url) << reply.error().message;
  EXPECT_NE(reply.error().message.find("60000 ms"), std::string::npos);
}

TEST_F(zookeeper_fault, AnotherUserIsDeniedAndToldWhere) {
  auto const as = [&](std::string const& login) {
    auto text = url_;
    return text.insert(5, login + "@");
  };
  zookeeper_ports a(as("app:right"));
  zookeeper_ports b(as("app:wrong"));
  zookeeper_ports nobody(url_);
  ASSERT_TRUE(granted(a.acquire(stock, alice_)));
  for (auto* each : {&b, &nobody}) {
    for (auto wait : {0ms, 5000ms}) {
      auto const reply = each->acquire(stock, bob_, 1min, wait);
      ASSERT_FALSE(reply.has_value());
      EXPECT_EQ(reply.error(), errc::access_denied) << reply.error().message;
      EXPECT_NE(reply.error().message.find(chroot_ + "/stock%2F1"), std::string::npos);
      EXPECT_EQ(reply.error().message.find("wrong"), std::string::npos);
    }
  }
  EXPECT_EQ(a.release(stock, alice_).value(), release_reply::released);
}

// With a hundred in the queue a release wakes one: events are counted by the server.
TEST_F(zookeeper_fault, AReleaseWakesOneOfAHundredWaiters) {
  zookeeper_ports a(url_);
  ASSERT_TRUE(granted(a.acquire(stock, alice_)));
  std::vector<std::future<result<acquire_reply>>> waiting;
  std::vector<owner_token> owners;
  for (int i = 0; i < 100; ++i) {
    owners.push_back(owner_token::generate());
    waiting.push_back(a.start_acquire({resource(stock), owners.back(), 1min, 1min}));
  }
  ASSERT_TRUE(eventually([&] {
    return server_.member(0).figure("zk_watch_count") >= 100.0 && a.waiting(stock) == 100;
  }));
  auto const events = [&] {
    return server_.member(0).figure("zk_sum_node_deleted_watch_count").value() +
           server_.member(0).figure("zk_sum_node_changed_watch_count").value() +
           server_.member(0).figure("zk_sum_node_children_watch_count").value();
  };
  auto const before = events();
  EXPECT_EQ(a.release(stock, alice_).value(), release_reply::released);
  EXPECT_TRUE(granted(waiting.front().get()));
  EXPECT_EQ(events() - before, 1.0);
  EXPECT_EQ(waiting[1].wait_for(0s), std::future_status::timeout);
  // Renewals wake nobody at all.
  ASSERT_EQ(a.renew(stock, owners.front()).value(), renew_reply::renewed);
  EXPECT_EQ(events() - before, 1.0);
}

// From ten sessions: the next one is woken, and the one behind it, which then knows its holder.
TEST_F(zookeeper_fault, AReleaseWakesTwoOfAHundredWaitersInTenSessions) {
  constexpr std::size_t waiters = 100;
  constexpr std::size_t sessions = 10;
  zookeeper_ports a(url_);
  ASSERT_TRUE(granted(a.acquire(stock, alice_)));
  std::vector<std::unique_ptr<zookeeper_ports>> others;
  for (std::size_t i = 0; i < sessions; ++i) {
    others.push_back(std::make_unique<zookeeper_ports>(url_));
  }
  std::vector<std::future<result<acquire_reply>>> waiting;
  std::vector<owner_token> owners;
  auto const before_all = server_.member(0).figure("zk_watch_count").value();
  for (std::size_t i = 0; i < waiters; ++i) {
    owners.push_back(owner_token::generate());
    waiting.push_back(
        others[i % sessions]->start_acquire({resource(stock), owners.back(), 1min, 1min}));
    ASSERT_TRUE(eventually([&] { return a.waiting(stock) == i + 1; }));
  }
  // One watch each, and a second one for all but the first.
  ASSERT_TRUE(eventually([&] {
    return server_.member(0).figure("zk_watch_count") >= before_all + 2.0 * waiters - 1;
  }));
  auto const events = [&] {
    return server_.member(0).figure("zk_sum_node_deleted_watch_count").value() +
           server_.member(0).figure("zk_sum_node_changed_watch_count").value() +
           server_.member(0).figure("zk_sum_node_children_watch_count").value();
  };
  auto last = events();
  EXPECT_EQ(a.release(stock, alice_).value(), release_reply::released);
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(granted(waiting[i].get()));
    EXPECT_LE(events() - last, 2.0) << i;
    EXPECT_EQ(waiting[i + 1].wait_for(0s), std::future_status::timeout);
    last = events();
    EXPECT_EQ(others[i]->release(stock, owners[i]).value(), release_reply::released);
  }
}

// B12: a session that ends answers what is under way on it: nobody waits for a time-out.
TEST_F(zookeeper_fault, OperationsUnderWayWhenASessionEndsGoOnInTheNext) {
  relay between(server_.port());
  zookeeper_ports a(through(between, chroot_) + "?timeout=20s&session_timeout=1s");
  zookeeper_ports b(url_ + "?session_timeout=20s");
  auto const first = fencing_of(a.acquire(stock, alice_));
  between.stop_forwarding();
  ASSERT_TRUE(granted(b.acquire(stock, bob_, 1min, 20s)));
  std::vector<std::future<result<acquire_reply>>> asked;
  for (int i = 0; i < 50; ++i) {
    asked.push_back(a.start_acquire(
        {resource("other" + std::to_string(i)), owner_token::generate(), 1min, 10s}));
  }
  between.cut_all();
  between.resume_forwarding();
  for (auto& one : asked) EXPECT_GT(fencing_of(one.get()), first);
}

// The server removes a container some time after its last child; who comes at that moment makes it
// again. Fencing goes on rising though numbers begin at 0 again.
TEST_F(zookeeper_fault, TheNodeOfAResourceThatNobodyUsesGoesAndComesBack) {
  zookeeper_ports a(url_);
  auto const first = fencing_of(a.acquire(stock, alice_));
  auto const nodes = server_.member(0).figure("zk_znode_count").value();
  ASSERT_EQ(a.release(stock, alice_).value(), release_reply::released);
  ASSERT_TRUE(
      eventually([&] { return server_.member(0).figure("zk_znode_count").value() <= nodes - 2; }));
  EXPECT_GT(fencing_of(a.acquire(stock, bob_)), first);
}

// What another client was told, here that it has released, has not come to the server that is
// asked.
TEST(zookeeper_ensemble, ATryAtAServerThatLagsIsNotToldOfAHolderWhoHasGone) {
  std::optional<relay> second_link, third_link;
  auto const server = [](std::size_t number, relay const& quorum, std::uint16_t election) {
    return "server." + std::to_string(number) + "=127.0.0.1:" + std::to_string(quorum.port()) +
           ":" + std::to_string(election);
  };
  zookeeper_server ensemble(3, [&](std::size_t number, auto const& all) -> zookeeper_extras {
    if (number != 1) return {};
    second_link.emplace(all[1].quorum);
    third_link.emplace(all[2].quorum);
    return {.config = {server(2, *second_link, all[1].election),
                       server(3, *third_link, all[2].election)}};
  });
  auto& lags = ensemble.member(0);
  auto& second = ensemble.member(1);
  auto& third = ensemble.member(2);
  bool const second_leads = second.word("srvr").find("Mode: leader") != std::string::npos;
  auto const url = [](zookeeper_member const& at) {
    return "zk://127.0.0.1:" + std::to_string(at.port()) + "/test?timeout=20s&session_timeout=20s";
  };
  zookeeper_ports a(url(lags)), b(url(second_leads ? second : third));
  auto const alice = owner_token::generate(), bob = owner_token::generate();
  ASSERT_TRUE(granted(b.acquire(stock, bob)));
  ASSERT_TRUE(std::holds_alternative<busy>(a.acquire(stock, alice).value()));
  second_link->set_delay(100ms);
  third_link->set_delay(100ms);
  EXPECT_EQ(b.release(stock, bob).value(), release_reply::released);
  EXPECT_TRUE(granted(a.acquire(stock, alice)));
}

// Three members: the holder keeps its lease when a follower and when the leader is killed.
TEST(zookeeper_ensemble, AKilledFollowerAndAKilledLeaderCostNobodyTheLease) {
  zookeeper_server ensemble(3);
  auto const url = ensemble.url(ensemble.fresh_chroot()) + "?timeout=20s&session_timeout=20s";
  zookeeper_ports a(url);
  zookeeper_ports b(url);
  auto const alice = owner_token::generate();
  auto const bob = owner_token::generate();
  fencing_token last = fencing_of(a.acquire(stock, alice));
  auto const kill_and_pass_on = [&](std::size_t index) {
    auto bobs = b.start_acquire({resource(stock), bob, 1min, 1min});
    ASSERT_TRUE(eventually([&] { return a.waiting(stock) == 1; }));
    ensemble.member(index).kill();
    EXPECT_EQ(a.renew(stock, alice).value(), renew_reply::renewed);
    EXPECT_EQ(a.release(stock, alice).value(), release_reply::released);
    auto const bobs_fencing = fencing_of(bobs.get());
    EXPECT_GT(bobs_fencing, last);
    EXPECT_EQ(b.release(stock, bob).value(), release_reply::released);
    last = fencing_of(a.acquire(stock, alice));
    EXPECT_GT(last, bobs_fencing);
    ensemble.member(index).start();
    ASSERT_TRUE(eventually([&] { return ensemble.all_serve(); }));
  };
  kill_and_pass_on(ensemble.follower());
  kill_and_pass_on(ensemble.leader());
}

}  // namespace
}  // namespace herdlock_test
