// The SQL that `herdlock doctor` prints is run as it stands, by an administrator; then a user who
// had no right at all locks.
#include <gtest/gtest.h>

#include <support/mariadb_server.hpp>
#include <support/postgres_server.hpp>

#include "doctor_report.hpp"

namespace {

using namespace herdlock_test;

// Behind the colon that ends its first line.
std::string sql_for(std::string const& check, doctor_report const& report) {
  for (auto const& one : report.told["findings"]) {
    if (one["check"] != check) continue;
    auto const fix = one["fix"].get<std::string>();
    auto const at = fix.find(":\n");
    EXPECT_NE(at, std::string::npos) << fix;
    EXPECT_EQ(fix.find("--"), std::string::npos) << "a comment swallows what follows in one line";
    return at == std::string::npos ? "" : fix.substr(at + 2);
  }
  ADD_FAILURE() << "no " << check << ": " << report.text;
  return {};
}

void expect_it_locks(std::string const& url) {
  auto const run = run_herdlock({"run", "job", "--store", url, "--", "echo", "done"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "done\n");
}

std::string as_user(std::string url, std::string const& administrator, std::string const& user) {
  return url.replace(url.find(administrator + "@"), administrator.size(), user);
}

// `run` gives the SQL to the server, as somebody who may.
template <class Run>
void expect_its_sql_helps(std::string const& check, std::string const& url, Run run) {
  auto const before = examined(url);
  EXPECT_EQ(before.code, 2) << before.text;
  run(sql_for(check, before));
  auto const after = examined(url);
  EXPECT_FALSE(after.has("error " + check)) << url << after.text;
  EXPECT_NE(after.code, 2) << url << after.text;
  expect_it_locks(url);
}

// The schema is the one in which the user looks, whatever the administrator's search_path.
TEST(DoctorSql, OfPostgresMakesAUserWithoutRightsLock) {
  auto& server = postgres_server::shared();
  server.sql(server.fresh_url(),
             "CREATE ROLE \"Tenant 7\" LOGIN; CREATE SCHEMA elsewhere;"
             "GRANT USAGE ON SCHEMA elsewhere TO \"Tenant 7\";"
             "ALTER ROLE \"Tenant 7\" SET search_path = elsewhere");
  for (std::string const mode : {"table", "advisory", "row", "row&session_grace=1ms"}) {
    for (std::string const user : {"guest", "Tenant%207"}) {
      auto const all = server.fresh_url() + "&mode=" + mode;
      auto const url = as_user(all, "postgres", user);
      expect_its_sql_helps("postgres.rights", url,
                           [&](std::string const& sql) { server.sql(all, sql); });
    }
  }
}

TEST(DoctorSql, OfPostgresGrantsWhatIsMissingOnTablesThatAreThere) {
  auto& server = postgres_server::shared();
  for (std::string const mode : {"table", "advisory", "row"}) {
    auto const all = server.fresh_url() + "&mode=" + mode;
    expect_it_locks(all);
    auto const url = as_user(all, "postgres", "guest");
    auto const sql = sql_for("postgres.rights", examined(url));
    EXPECT_EQ(sql.find("CREATE"), std::string::npos) << sql;
    server.sql(all, sql);
    expect_it_locks(url);
  }
}

TEST(DoctorSql, OfPostgresMakesTheSchemaThatTheUrlNames) {
  auto& server = postgres_server::shared();
  auto all = server.fresh_url();
  all.insert(all.find("table=") + 6, "locks_of_ours.");
  auto const url = as_user(all, "postgres", "guest");
  server.sql(all, sql_for("postgres.rights", examined(url)));
  expect_it_locks(url);
}

// One has no right at all, not even on the database; one may read it.
TEST(DoctorSql, OfMariadbMakesAUserWithoutRightsLock) {
  auto& server = mariadb_server::shared();
  server.sql(
      "CREATE USER outsider@'127.%', reader@'%'; CREATE DATABASE locks_to_read;"
      "GRANT SELECT ON locks_to_read.* TO reader@'%'");
  for (std::string const mode : {"table", "row", "named", "row&session_grace=1ms"}) {
    for (auto const& [user, database] :
         {std::pair("outsider", "locks-to-make"), std::pair("reader", "locks_to_read")}) {
      auto const url = "mysql://" + std::string(user) +
                       "@127.0.0.1:" + std::to_string(server.port()) + "/" + database +
                       "?mode=" + mode;
      expect_its_sql_helps("mysql.rights", url, [&](std::string const& sql) { server.sql(sql); });
    }
  }
}

// As a person sees it.
TEST(DoctorSql, StandsAtTheBeginningOfItsLines) {
  auto& server = postgres_server::shared();
  auto const url = as_user(server.fresh_url(), "postgres", "guest");
  auto const text = run_herdlock({"doctor", "--store", url}).out;
  EXPECT_NE(text.find("\nBEGIN;\nSET LOCAL search_path TO public;\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nCOMMIT;\n"), std::string::npos) << text;
}

}  // namespace
