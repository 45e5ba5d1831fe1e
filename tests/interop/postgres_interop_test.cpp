// pg_advisory_lock in psql and the advisory mode exclude each other.
#include <support/child_process.hpp>
#include <support/postgres_server.hpp>

#include "../contract/fixture.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace herdlock_test {
namespace {

store_case const postgres{"postgres", {}, &open_postgres};

// The key as docs/stores/postgres.md gives it.
constexpr char key[] = "('x' || substr(encode(sha256('stock:1'), 'hex'), 1, 16))::bit(64)::bigint";

class psql_session : public testing::Test {
 protected:
  // One statement, one line back.
  std::string ask(std::string const& statement) {
    psql_.write_line(statement);
    std::string line;
    bool const answered = eventually([&] {
      auto const all = psql_.output();
      auto const end = all.find('\n', read_);
      if (end == std::string::npos) return !psql_.running();
      line = all.substr(read_, end - read_);
      return true;
    });
    EXPECT_TRUE(answered && psql_.running()) << statement << psql_.errors();
    read_ += line.size() + 1;
    return line;
  }
  static std::string call(std::string const& function) {
    return "SELECT " + function + "(" + key + ");";
  }

  std::string const url_ = postgres_server::shared().fresh_url();
  child_process psql_{postgres_server::shared().session(url_)};
  std::size_t read_ = 0;
  client c{postgres, url_ + "&mode=advisory"};
  resource const stock{"stock:1"};
  owner_token const alice = owner_token::generate();
};

TEST_F(psql_session, ALockOfPsqlExcludesTheAdvisoryMode) {
  ASSERT_EQ(ask(call("pg_try_advisory_lock")), "t");
  auto const refused = c.acquire(stock, alice);
  ASSERT_TRUE(is<busy>(refused));
  EXPECT_EQ(as<busy>(refused).holder, "another client");
  EXPECT_EQ(c.inspect(stock).value()->holder, "another client");
  auto waiting = c.start_acquire({stock, alice, 1min, 1min});
  ASSERT_TRUE(c.run_until([&] { return c.inspect(stock).value()->waiting == 1; }));
  EXPECT_FALSE(waiting.done());
  ASSERT_EQ(ask(call("pg_advisory_unlock")), "t");
  EXPECT_TRUE(is<grant>(c.get(waiting)));
}

TEST_F(psql_session, ALockOfTheAdvisoryModeExcludesPsql) {
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  EXPECT_EQ(ask(call("pg_try_advisory_lock")), "f");
  ASSERT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_EQ(ask(call("pg_try_advisory_lock")), "t");
}

}  // namespace
}  // namespace herdlock_test
