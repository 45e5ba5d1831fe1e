// The end of a session in the modes whose locks belong to one: it is the loss, at once.
#include <herdlock/herdlock.hpp>

#include "mysql_ports.hpp"

namespace herdlock_test {
namespace {

struct mysql_session_end : testing::TestWithParam<std::string> {
  store_case const kind{.name = "mysql", .url = {}, .open = &open_mysql};
  std::string const url = mysql_url(GetParam());
  std::string const table = "`" + mysql_database(url) + "`.herdlock_" + GetParam() + "_leases";
  resource const stock{"stock:1"};

  static mariadb_server& server() { return mariadb_server::shared(); }
  void kill_session_of(resource const& name) const {
    server().sql("KILL " + server().sql("SELECT session FROM " + table + " WHERE resource = '" +
                                        name.str() + "'"));
  }
  static bool told(lease const& mine) {
    return eventually([&] { return mine.lost_token().stop_requested(); });
  }
};
INSTANTIATE_TEST_SUITE_P(modes, mysql_session_end, testing::Values("row", "named"),
                         [](auto const& one) { return one.param; });

// B1: the server gives the lock to the next in the same moment; the holder knows as soon as it can,
// though nobody waits here and no renewal is due.
TEST_P(mysql_session_end, IsToldLongBeforeARenewalIsDue) {
  auto const store = open_store(url);
  auto const mine = lock(store, stock).try_acquire({.ttl = 1h}).value();
  auto const other = lock(store, "other").try_acquire({.ttl = 1h}).value();
  kill_session_of(stock);
  EXPECT_TRUE(told(mine));
  EXPECT_FALSE(mine.valid());
  EXPECT_NE(mine.lost_reason().message.find("its session in the server has ended"),
            std::string::npos);
  EXPECT_TRUE(other.valid());
  EXPECT_TRUE(lock(store, stock).try_acquire());
}

// A session is watched again behind each statement.
TEST_P(mysql_session_end, IsToldBehindARenewalToo) {
  client c(kind, url);
  std::vector<lease_end> told;
  c.store().leases->on_lease_end([&](lease_end const& what) { told.push_back(what); });
  auto const alice = owner_token::generate();
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  ASSERT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
  kill_session_of(stock);
  ASSERT_TRUE(c.run_until([&] { return !told.empty(); }));
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().owner, alice);
}

TEST_P(mysql_session_end, IsToldWhenTheServerIsKilled) {
  auto const mine = lock(open_store(url), stock).try_acquire({.ttl = 1h}).value();
  server().kill();
  EXPECT_TRUE(told(mine));
  EXPECT_FALSE(mine.valid());
  server().restart();
}

}  // namespace
}  // namespace herdlock_test
