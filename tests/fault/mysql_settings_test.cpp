// What a server may have set for all sessions does not change what ours do.
#include <herdlock/herdlock.hpp>

#include "mysql_ports.hpp"

namespace herdlock_test {
namespace {

struct mysql_settings : testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(modes, mysql_settings, testing::Values("table", "row", "named"),
                         [](auto const& one) { return one.param; });

// B30: a COMMIT that ends the session ended each grant of the row mode; read-only transactions
// ended all of them.
TEST_P(mysql_settings, OfTheServerDoNotChangeWhatOurSessionsDo) {
  mariadb_server server;
  auto const url = server.url("locks") + "?mode=" + GetParam();
  server.sql(
      "SET GLOBAL completion_type = 'RELEASE', GLOBAL tx_read_only = ON, "
      "GLOBAL max_statement_time = 0.3, GLOBAL sql_select_limit = 1, "
      "GLOBAL sql_safe_updates = ON, GLOBAL idle_transaction_timeout = 1");
  auto const store = open_store(url);
  auto first = lock(store, "first").try_acquire();
  auto const second = lock(store, "second").try_acquire();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(store.list().names.size(), 2u);
  EXPECT_FALSE(lock(store, "first").acquire({.wait = 700ms})) << "longer than a statement may take";
  EXPECT_TRUE(first->valid());
  EXPECT_EQ(first->release(), release_reply::released);
  EXPECT_TRUE(lock(store, "first").try_acquire());
  EXPECT_TRUE(second->valid());
}

}  // namespace
}  // namespace herdlock_test
