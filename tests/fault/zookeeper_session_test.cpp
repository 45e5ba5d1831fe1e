// A holder whose session is ended at the server by another client.
#include <support/relay.hpp>

#include "../contract/fixture.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"
#include "zookeeper_sessions.hpp"

namespace herdlock_test {
namespace {

// B1: no renewal is due for long, and the port has none by itself.
TEST(zookeeper_session, AHolderWhoseSessionIsEndedByAnotherIsToldAtOnceAndAWaiterIsNot) {
  zookeeper_server server;
  store_case const zookeeper{"zookeeper", {}, &open_zookeeper};
  resource const stock("stock/1");
  auto const alice = owner_token::generate();
  relay between(server.port());
  client c(zookeeper, "zk://127.0.0.1:" + std::to_string(between.port()) + server.fresh_chroot() +
                          "?session_timeout=60s");
  std::vector<lease_end> told;
  c.store().leases->on_lease_end([&](lease_end const& what) { told.push_back(what); });
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const waiting = c.start_acquire({stock, owner_token::generate(), 1min, 1min});
  auto const all = sessions_of(server);
  ASSERT_EQ(all.size(), 1u);
  between.refuse();  // else it would take its session back
  end_session(server, all.front());
  between.accept();
  ASSERT_TRUE(c.run_until([&] { return !told.empty(); }));
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().name, stock);
  EXPECT_EQ(told.front().owner, alice);
  EXPECT_TRUE(is<grant>(c.get(waiting))) << "who waits goes on in the next session";
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
}

// The session goes on at such a server; what it has made must not stay for as long as it lives.
TEST(zookeeper_session, ALeaseIsGivenBackAtAServerThatGrantsShorterSessionsNow) {
  zookeeper_server server;
  store_case const zookeeper{"zookeeper", {}, &open_zookeeper};
  resource const stock("stock/1");
  auto const alice = owner_token::generate();
  auto const url = server.url(server.fresh_chroot());
  client a(zookeeper, url + "?timeout=20s&session_timeout=30s");
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  server.member(0).kill();
  server.member(0).configure("maxSessionTimeout=10000");
  server.restart();
  ASSERT_TRUE(eventually([&] {
    auto const asked = a.renew(stock, alice);
    return asked.has_error() && asked.error() == errc::invalid_url;
  })) << "it says what is wrong";
  EXPECT_EQ(a.release(stock, alice).value(), release_reply::released);
  client b(zookeeper, url + "?timeout=20s&session_timeout=5s");
  EXPECT_TRUE(is<grant>(b.acquire(stock, owner_token::generate())));
}

}  // namespace
}  // namespace herdlock_test
