// session_grace: whoever succeeds a holder that did not release waits first.
#include <support/relay.hpp>

#include "../contract/fixture.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"
#include "zookeeper_ports.hpp"
#include "zookeeper_sessions.hpp"

namespace herdlock_test {
namespace {

struct zookeeper_session_grace : testing::Test {
  store_case const kind{.name = "zookeeper", .url = {}, .open = &open_zookeeper};
  resource const stock{"stock/1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
  owner_token const carol = owner_token::generate();
  std::string const url = server().url(server().fresh_chroot()) + "?session_grace=";

  static zookeeper_server& server() { return zookeeper_server::shared(); }

  // A session's answers come in order: what was on its way to a grant has come behind a few.
  bool waits(client& c, pending<acquire_reply> const& one, fencing_token behind) const {
    if (!c.run_until([&] { return holder(c) > behind; })) return false;
    for (int i = 0; i < 4; ++i) holder(c);
    return !one.done();
  }
  fencing_token holder(client& c) const {
    auto const info = c.inspect(stock).value();
    return info ? info->fencing : fencing_token{};
  }
  // Its session ends, and nothing is released.
  fencing_token held_and_left(milliseconds ttl = 1min) const {
    client a(kind, url + "5m");
    auto const granted = as<grant>(a.acquire(stock, alice, ttl)).fencing;
    a.close();
    return granted;
  }
};

// B1: with a grace longer than the test, so that nothing has to be timed.
TEST_F(zookeeper_session_grace, KeepsWhoSucceedsAHolderThatDidNotReleaseFromTheLock) {
  auto const first = held_and_left();
  client b(kind, url + "5m");
  auto const bobs = b.start_acquire({stock, bob, 1min, 0ms});
  EXPECT_TRUE(waits(b, bobs, first)) << "it is first, and waits";
  b.close();  // which is no release: the next one waits, too
  client c(kind, url + "300ms");
  auto const begun = clock::now();
  auto const carols = as<grant>(c.acquire(stock, carol, 200ms));
  EXPECT_GT(carols.fencing, first);
  EXPECT_GE(carols.validity.value().since, begun + 300ms) << "the ttl begins behind the grace";
}

TEST_F(zookeeper_session_grace, IsNotWaitedForBehindAReleaseNorForAFreshName) {
  client a(kind, url + "5m"), b(kind, url + "5m");
  for (auto* const each : {&a, &b, &a}) {
    ASSERT_TRUE(is<grant>(each->acquire(stock, alice)));
    ASSERT_EQ(each->release(stock, alice).value(), release_reply::released);
  }
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  auto const bobs = b.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(b.run_until([&] { return a.inspect(stock).value()->waiting == 1; }));
  auto const carols = a.start_acquire({stock, carol, 1min, 1min});
  ASSERT_EQ(a.inspect(stock).value()->waiting, 2u);
  ASSERT_EQ(a.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(b.get(bobs)));
  ASSERT_EQ(b.release(stock, bob).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(a.get(carols)));
}

TEST_F(zookeeper_session_grace, IsWaitedForBehindALeaseThatRanOut) {
  client a(kind, url + "5m"), b(kind, url + "5m");
  auto const first = as<grant>(a.acquire(stock, alice, 300ms)).fencing;
  auto const bobs = b.start_acquire({stock, bob, 1min, 1min});
  EXPECT_TRUE(waits(b, bobs, first));
  EXPECT_EQ(a.release(stock, alice).value(), release_reply::lost) << "too late to take the mark";
  EXPECT_TRUE(waits(b, bobs, first));
}

TEST_F(zookeeper_session_grace, IsWaitedForBehindALeaseThatWasTakenAwayByForce) {
  client a(kind, url + "5m"), b(kind, url + "5m");
  auto const first = as<grant>(a.acquire(stock, alice)).fencing;
  ASSERT_EQ(b.force_release(stock).value(), release_reply::released);
  EXPECT_EQ(a.release(stock, alice).value(), release_reply::lost) << "too late to take the mark";
  auto const bobs = b.start_acquire({stock, bob, 1min, 1min});
  EXPECT_TRUE(waits(b, bobs, first));
}

TEST_F(zookeeper_session_grace, GoesOnWhenItsWaiterGoesAndIsNotBegunAnew) {
  auto const first = held_and_left();
  client b(kind, url + "1s"), c(kind, url + "5m");
  auto bobs = b.start_acquire({stock, bob, 1min, 0ms});
  ASSERT_TRUE(waits(b, bobs, first));
  bobs.cancel();
  EXPECT_TRUE(b.get(bobs).error() == errc::canceled);
  auto const carols = c.start_acquire({stock, carol, 1min, 1min});
  ASSERT_TRUE(b.run_until([&] {
    holder(c);
    return carols.done();
  })) << "the next waited again";
  EXPECT_TRUE(is<grant>(c.get(carols)));
}

TEST_F(zookeeper_session_grace, IsGivenUpByAReleaseThatComesBeforeTheGrant) {
  auto const first = held_and_left();
  client b(kind, url + "5m");
  auto const bobs = b.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(waits(b, bobs, first));
  EXPECT_EQ(b.release(stock, bob).value(), release_reply::lost);
  EXPECT_TRUE(is<busy>(b.get(bobs)));
}

// B12
TEST_F(zookeeper_session_grace, BeginsAnewForAWaiterWhoseSessionEndsInIt) {
  zookeeper_server own;
  auto const chroot = own.fresh_chroot();
  std::string const more = chroot + "?session_timeout=60s&session_grace=5m";
  {
    client a(kind, "zk://127.0.0.1:" + std::to_string(own.port()) + more);
    ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  }
  relay between(own.port());
  client b(kind, "zk://127.0.0.1:" + std::to_string(between.port()) + more);
  auto const bobs = b.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(waits(b, bobs, {}));
  auto const before = holder(b);
  auto const all = sessions_of(own);
  ASSERT_EQ(all.size(), 1u);
  between.refuse();  // else it would take its session back
  end_session(own, all.front());
  between.accept();
  EXPECT_TRUE(waits(b, bobs, before));
}

// A mark whose making had no answer is one's own, and is taken away all the same.
TEST_F(zookeeper_session_grace, IsNotWaitedForAfterAConnectionWasCutAnywhere) {
  relay between(server().port());
  auto const chroot = server().fresh_chroot();
  auto const more = chroot + "?timeout=20s&session_timeout=10s&session_grace=5m";
  zookeeper_ports a("zk://127.0.0.1:" + std::to_string(between.port()) + more);
  zookeeper_ports b("zk://127.0.0.1:" + std::to_string(server().port()) + more);
  auto const granted_soon = [&](zookeeper_ports& who, owner_token const& owner) {
    auto asked = who.start_acquire({stock, owner, 1min, 10s});
    return asked.wait_for(patience) == std::future_status::ready && granted(asked.get());
  };
  ASSERT_TRUE(granted_soon(a, alice));
  ASSERT_EQ(a.release(stock.str(), alice).value(), release_reply::released);
  for (auto const way : {direction::to_server, direction::to_client}) {
    for (std::size_t bytes = 0; bytes <= 800; bytes += 50) {
      auto const owner = owner_token::generate();
      between.cut_after_bytes(way, bytes);
      ASSERT_TRUE(granted_soon(a, owner)) << bytes;
      ASSERT_EQ(a.release(stock.str(), owner).value(), release_reply::released) << bytes;
      between.disarm();
      ASSERT_TRUE(granted_soon(b, bob)) << bytes;
      ASSERT_EQ(b.release(stock.str(), bob).value(), release_reply::released) << bytes;
    }
  }
}

TEST_F(zookeeper_session_grace, IsFiveMinutesAtMost) {
  client c(kind, url + "5m");
  asio::io_context io;
  auto const longer = store_url::parse("zk://localhost?session_grace=301s").value();
  auto const refused = open_zookeeper(longer, io.get_executor());
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().message.find("'session_grace' must be from 0 to 5m"),
            std::string::npos);
}

}  // namespace
}  // namespace herdlock_test
