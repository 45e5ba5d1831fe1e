// How the store's own sessions have their statements planned, seen from inside of them: by a
// trigger on the table that they write.
#include <support/postgres_server.hpp>

#include "postgres_faults.hpp"

namespace herdlock_test {
namespace {

class postgres_plans : public testing::TestWithParam<std::string> {
 protected:
  std::string sql(std::string const& statements) const { return server.sql(url, statements); }

  postgres_server& server = postgres_server::shared();
  std::string const url = server.fresh_url();
  std::string const table = url.substr(url.find("table=") + 6);
  owner_token const alice = owner_token::generate();
};
INSTANTIATE_TEST_SUITE_P(modes, postgres_plans, testing::Values("table", "advisory", "row"),
                         [](auto const& one) { return one.param; });

TEST_P(postgres_plans, AreMadeOnceAndWithoutScansOnTheStoresOwnSessionsOnly) {
  // A new session that finds this table empty writes to it, as after a crash.
  bool const of_sessions = GetParam() != "table";
  std::string const written = of_sessions ? table + "_unbroken" : table;
  std::string const settings =
      "current_setting('plan_cache_mode'), current_setting('enable_seqscan'), "
      "current_setting('jit')";
  client c(postgres, url + "&mode=" + GetParam());
  as<grant>(c.acquire(resource("stock:1"), alice));  // which makes the tables
  sql("CREATE TABLE " + table + "_seen (plans text, scans text, jit text)");
  sql("CREATE FUNCTION " + table + "_look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " +
      "INSERT INTO " + table + "_seen SELECT " + settings + "; RETURN NEW; END $$");
  sql("CREATE TRIGGER look AFTER INSERT OR UPDATE ON " + written +
      " FOR EACH ROW EXECUTE FUNCTION " + table + "_look()");
  if (of_sessions) sql("DELETE FROM " + written);
  as<grant>(c.acquire(resource("stock:2"), alice));  // the first session holds stock:1
  EXPECT_EQ(sql("SELECT DISTINCT * FROM " + table + "_seen"), "force_generic_plan|off|off\n");
  EXPECT_EQ(sql("SELECT " + settings), "auto|on|on\n") << "of everybody else";
}

}  // namespace
}  // namespace herdlock_test
