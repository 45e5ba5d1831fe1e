// In which schema of PostgreSQL a lock lives is said, and that nobody wrote it down is a warning.
#include <gtest/gtest.h>

#include <support/postgres_server.hpp>

#include "doctor_report.hpp"

namespace {

using namespace herdlock_test;

std::string url_of(std::string const& role, std::string const& options) {
  return "postgres://" + role + "@127.0.0.1:" + std::to_string(postgres_server::shared().port()) +
         "/postgres?" + options;
}

struct schema_choice : testing::TestWithParam<std::string> {
  // Each has a schema of its name: the first in the default search_path.
  static void SetUpTestSuite() {
    postgres_server::shared().sql(url_of("postgres", ""),
                                  "CREATE ROLE shop LOGIN; CREATE SCHEMA AUTHORIZATION shop;"
                                  "CREATE ROLE depot LOGIN; CREATE SCHEMA AUTHORIZATION depot;"
                                  "GRANT ALL ON SCHEMA shop TO depot");
  }
  std::string mode() const { return "mode=" + GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(modes, schema_choice, testing::Values("table", "advisory", "row"),
                         [](auto const& one) { return one.param; });

// B29
TEST_P(schema_choice, OfTheUsersNameIsAWarningOfRunAndOfDoctor) {
  for (std::string const role : {"shop", "depot"}) {
    auto const url = url_of(role, mode());
    auto const run = run_herdlock({"run", "job", "--verbose", "--store", url, "--", "true"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.err.find("the schema " + role + " of the database postgres"), std::string::npos)
        << run.err;
    EXPECT_NE(run.err.find("herdlock: warning: "), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("\"$user\""), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("write table=" + role + ".herdlock_leases"), std::string::npos)
        << run.err;
    auto const report = examined(url);
    EXPECT_TRUE(report.has("warning postgres.schema")) << report.text;
  }
}

TEST_P(schema_choice, ThatTheUrlMakesIsNotedAndNoWarning) {
  auto const url = url_of("shop", mode() + "&table=shop.ours_" + GetParam());
  auto const run = run_herdlock({"run", "job", "--verbose", "--store", url, "--", "true"});
  EXPECT_NE(run.err.find("the schema shop of the database postgres"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("warning"), std::string::npos) << run.err;
  auto const report = examined(url);
  EXPECT_FALSE(report.has("warning postgres.schema")) << report.text;
  ASSERT_EQ(report.told["notes"].size(), 1u) << report.text;
  EXPECT_NE(report.told["notes"][0].get<std::string>().find("schema shop"), std::string::npos);
}

TEST_P(schema_choice, OfAllIsNoWarning) {
  auto const url = postgres_server::shared().fresh_url() + "&" + mode();
  auto const run = run_herdlock({"run", "job", "--store", url, "--", "true"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_FALSE(examined(url).has("warning postgres.schema"));
}

}  // namespace
