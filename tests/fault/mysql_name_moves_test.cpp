// A name that leads new connections to another server, while the old ones stay where they are.
#include <herdlock/herdlock.hpp>

#include "mysql_ports.hpp"

namespace herdlock_test {
namespace {

struct mysql_name_moves : testing::TestWithParam<std::string> {
  store_case const kind{.name = "mysql", .url = {}, .open = &open_mysql};
  mariadb_server& before = mariadb_server::shared();
  mariadb_server after{{"--server-id=2"}};
  relay name{before.port()};
  std::string const there = [this] {
    static int number = 0;
    return "moves_" + GetParam() + "_" + std::to_string(++number);
  }();
  std::string const direct = after.url(there) + "?mode=" + GetParam();
  std::string const url = mysql_through(name, before.url(there) + "?mode=" + GetParam());
  resource const stock{"stock:1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};
INSTANTIATE_TEST_SUITE_P(modes, mysql_name_moves, testing::Values("table", "row", "named"),
                         [](auto const& one) { return one.param; });

// The connections of one handle led to two servers, and what was held at the old one was
// renewed there, beside the holder at the new one, for as long as the old one answered.
TEST_P(mysql_name_moves, WhatIsHeldAtTheOldServerIsLostWhenAConnectionLeadsElsewhere) {
  client c(kind, url);
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  client other(kind, direct);
  ASSERT_TRUE(is<grant>(other.acquire(stock, bob)));
  name.lead_to(after.port());
  // More at once than there are idle connections, so that a new one comes up.
  std::vector<pending<acquire_reply>> more;
  for (int i = 0; i < 4; ++i) {
    more.push_back(c.start_acquire({resource("more:" + std::to_string(i)), alice, 1min}));
  }
  for (auto const& one : more) c.get(one);
  EXPECT_TRUE(c.run_until([&] {
    auto const told = c.renew(stock, alice);
    return told.has_value() && *told == renew_reply::lost;
  })) << "the lease is still renewed at the old server, beside the new holder";
  EXPECT_TRUE(is<busy>(c.acquire(stock, alice)));
  // Each connection of this test is in its database, but for the one that asks.
  EXPECT_TRUE(c.run_until([&] {
    return before.sql("SELECT COUNT(*) FROM information_schema.processlist WHERE db = '" + there +
                      "'") == "0\n";
  })) << "connections to the old server are kept";
}

// A balancer in front of several servers: no connection would stay for long.
TEST_P(mysql_name_moves, WhereConnectionsGoToAndFroTheStoreSaysSo) {
  store const s = open_store(url);
  for (int i = 0; i < 8; ++i) {
    name.lead_to(i % 2 == 0 ? after.port() : before.port());
    name.cut_all();
    EXPECT_TRUE(eventually([&] {
      try {
        return lock(s, "r" + std::to_string(i)).try_acquire().has_value();
      } catch (error const&) {
        return false;
      }
    }));
  }
  auto const told = s.warnings();
  ASSERT_EQ(told.size(), 1u);
  for (char const* part : {"to and fro", "server_id=2", "give the URL the name of one server"}) {
    EXPECT_NE(told[0].find(part), std::string::npos) << told[0];
  }
}

}  // namespace
}  // namespace herdlock_test
