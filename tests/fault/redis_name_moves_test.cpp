// A name that leads new connections to another server, while the old ones stay where they are: a
// proxy, a service address, a DNS name behind a failover that demoted nobody.
#include <contract/fixture.hpp>
#include <herdlock/report_store.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>

#include "stores/redis/redis_store.hpp"

namespace herdlock_test {
namespace {

struct redis_name_moves : testing::Test {
  store_case const kind{.name = "redis", .url = {}, .open = &open_redis};
  redis_server before;
  redis_server after;
  relay name{before.port()};
  std::string const url = "redis://127.0.0.1:" + std::to_string(name.port());
  resource const stock{"stock"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();

  static bool subscribed(redis_server const& at) {
    return at.cli("CLIENT LIST TYPE pubsub").find("addr=") != std::string::npos;
  }
};

// The pushing connection came up at the new server, and the commands stayed at the old one for
// as long as it answered: two holders, and a waiter whom nobody woke.
TEST_F(redis_name_moves, TheCommandsFollowAConnectionThatCameUpElsewhere) {
  client c(kind, url);
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  client other(kind, after.url());
  ASSERT_TRUE(is<grant>(other.acquire(stock, bob)));
  auto const waits = c.start_acquire({stock, owner_token::generate(), 1min, 1min});
  ASSERT_TRUE(c.run_until([&] { return subscribed(before); }));
  name.lead_to(after.port());
  before.cli("CLIENT KILL TYPE pubsub");
  EXPECT_TRUE(c.run_until([&] {
    auto const told = c.renew(stock, alice);
    return told.has_value() && *told == renew_reply::lost;
  })) << "the lease is still renewed at the old server, beside the new holder";
  EXPECT_EQ(other.release(stock, bob).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(c.get(waits))) << "the waiter stayed at the old server";
}

// The other way round: the commands' connection was lost, that of the pushes stayed.
TEST_F(redis_name_moves, ThePushesFollowTheCommands) {
  client c(kind, url);
  auto const waits = c.start_watch({cache_key("key"), 1min});
  ASSERT_TRUE(c.run_until([&] { return subscribed(before); }));
  name.lead_to(after.port());
  before.cli("CLIENT KILL TYPE normal SKIPME yes");
  EXPECT_TRUE(c.run_until([&] { return !subscribed(before); }))
      << "the pushes are still those of the old server";
}

// Else the election is at one server and the reports at another one.
TEST_F(redis_name_moves, TheReportsFollowTheCommands) {
  struct nobody final : report_listener {
    void on_report(std::string_view) override {}
  };
  client c(kind, url);
  auto const ear = std::make_shared<nobody>();
  c.store().reports->listen("t", ear);
  ASSERT_TRUE(c.run_until([&] { return subscribed(before); }));
  name.lead_to(after.port());
  before.cli("CLIENT KILL TYPE normal SKIPME yes");
  EXPECT_TRUE(c.run_until([&] { return !subscribed(before); }))
      << "the reports are still those of the old server";
}

// A balancer in front of two masters looks so, and nothing that is held there lasts.
TEST_F(redis_name_moves, ANameThatGoesToAndFroIsWarnedOf) {
  client one(kind, before.url()), two(kind, after.url());
  ASSERT_TRUE(is<grant>(one.acquire(stock, bob)));
  ASSERT_TRUE(is<grant>(two.acquire(stock, bob)));
  client c(kind, url);
  auto const waits = c.start_acquire({stock, alice, 1min, 1min});
  redis_server* at = &before;
  redis_server* next = &after;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(c.store().warnings->list().empty()) << "after " << i;
    ASSERT_TRUE(c.run_until([&] { return subscribed(*at); })) << i;
    name.lead_to(next->port());
    at->cli("CLIENT KILL TYPE pubsub");
    ASSERT_TRUE(c.run_until([&] { return subscribed(*next); })) << i;
    ASSERT_TRUE(c.run_until([&] { return c.inspect(stock).has_value(); })) << i;
    std::swap(at, next);
  }
  ASSERT_TRUE(c.run_until([&] { return !c.store().warnings->list().empty(); }));
  auto const told = c.store().warnings->list();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("to and fro between servers (run_id "), std::string::npos) << told[0];
}

}  // namespace
}  // namespace herdlock_test
