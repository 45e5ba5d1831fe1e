// mode=named and everybody else's GET_LOCK: the mariadb command, run for real.
#include <support/child_process.hpp>
#include <support/mariadb_server.hpp>

#include "../contract/fixture.hpp"
#include "stores/mysql/mysql_store.hpp"

namespace herdlock_test {
namespace {

// A session of the mariadb command that stays open.
class sql_session {
 public:
  sql_session()
      : child_({.argv = {find_program("mariadb", "mariadb-client"), "--no-defaults",
                         "--protocol=tcp", "--host=127.0.0.1",
                         "--port=" + std::to_string(mariadb_server::shared().port()), "--user=root",
                         "--batch", "--skip-column-names", "--unbuffered"},
                .input = process_input::pipe}) {}

  std::string ask(std::string const& statement) {
    child_.write_line(statement + ";");
    std::string reply;
    EXPECT_TRUE(eventually([&] {
      std::string const all = child_.output();
      auto const end = all.find('\n', read_);
      if (end == std::string::npos) return false;
      reply = all.substr(read_, end - read_);
      return true;
    })) << statement
        << "\n"
        << child_.errors();
    read_ += reply.size() + 1;
    return reply;
  }

 private:
  child_process child_;
  std::size_t read_ = 0;
};

struct get_lock : testing::Test {
  store_case const kind{.name = "mysql_named", .url = {}, .open = &open_mysql};
  client c{kind, mariadb_server::shared().url("interop") + "?mode=named"};
  sql_session theirs;
  owner_token const mine = owner_token::generate();
  resource const stock{"stock:1"};
};

TEST_F(get_lock, OfTheMariadbCommandKeepsUsOut) {
  ASSERT_EQ(theirs.ask("SELECT GET_LOCK('stock:1', 0)"), "1");
  EXPECT_EQ(as<busy>(c.acquire(stock, mine)).holder, "another client");
  EXPECT_EQ(c.inspect(stock).value()->holder, "another client");
  ASSERT_EQ(theirs.ask("SELECT RELEASE_LOCK('stock:1')"), "1");
  EXPECT_TRUE(is<grant>(c.acquire(stock, mine)));
}

TEST_F(get_lock, OfTheMariadbCommandIsKeptOutByUs) {
  ASSERT_TRUE(is<grant>(c.acquire(stock, mine)));
  EXPECT_EQ(theirs.ask("SELECT GET_LOCK('stock:1', 0)"), "0");
  ASSERT_EQ(c.release(stock, mine).value(), release_reply::released);
  EXPECT_EQ(theirs.ask("SELECT GET_LOCK('stock:1', 0)"), "1");
}

TEST_F(get_lock, ItsReleaseEndsOurWait) {
  ASSERT_EQ(theirs.ask("SELECT GET_LOCK('stock:1', 0)"), "1");
  auto waiting = c.start_acquire({stock, mine, 1min, 1min});
  ASSERT_TRUE(c.run_until([&] {
    return mariadb_server::shared().sql(
               "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock'") ==
           "1\n";
  }));
  ASSERT_EQ(theirs.ask("SELECT RELEASE_LOCK('stock:1')"), "1");
  EXPECT_TRUE(is<grant>(c.get(waiting)));
}

}  // namespace
}  // namespace herdlock_test
