// Bad input: one clear line, the right exit code, nothing left behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <support/free_port.hpp>
#include <support/mariadb_server.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
using words = std::vector<std::string>;

// The leak check looks at every thread, and says so of one that has been joined and that the kernel
// has not taken off its list yet.
bool is_of_the_sanitizer(std::string const& line) {
  return line.starts_with("==") && line.find("Unable to get registers") != line.npos;
}

// One line that begins with the program's name, says `part`, and shows no password.
void expect_refused(words const& arguments, int code, std::string const& part,
                    environment const& env = {}) {
  auto const refused = run_herdlock(arguments, env);
  std::string const what = ::testing::PrintToString(arguments);
  EXPECT_EQ(refused.code, code) << what << "\n" << refused.err;
  auto lines = lines_of(refused.err);
  std::erase_if(lines, is_of_the_sanitizer);
  ASSERT_EQ(lines.size(), 1u) << what << "\n" << refused.err;
  EXPECT_EQ(lines[0].rfind("herdlock: ", 0), 0u) << lines[0];
  EXPECT_NE(lines[0].find(part), std::string::npos) << what << "\n" << lines[0];
  EXPECT_EQ(lines[0].find("s3cret"), std::string::npos) << lines[0];
  EXPECT_EQ(refused.out, "") << what;
}

class BadInput : public ::testing::Test {
 protected:
  words run(words options, std::string const& name = "job") const {
    words all{"run", name, "--store", "sqlite:" + (folder_ / "s.db").string()};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "touch", (folder_ / "ran").string()});
    return all;
  }
  void TearDown() override { EXPECT_FALSE(std::filesystem::exists(folder_ / "ran")); }

  temp_dir folder_;
};

TEST_F(BadInput, UnknownCommandsAndOptionsAreUsageErrors) {
  expect_refused({"frobnicate"}, 64, "frobnicate");
  expect_refused({"demo", "frobnicate"}, 64, "frobnicate");
  expect_refused({"--frobnicate"}, 64, "frobnicate");
  expect_refused(run({"--frobnicate"}), 64, "frobnicate");
  expect_refused({"demo", "stampede", "--frobnicate"}, 64, "frobnicate");
  expect_refused({"run"}, 64, "NAME");
}

TEST_F(BadInput, ARunWithoutACommandIsAUsageError) {
  expect_refused({"run", "job"}, 64, "after --");
  expect_refused({"run", "job", "--"}, 64, "after --");
  expect_refused({"run", "job", "make"}, 64, "make");
}

TEST_F(BadInput, NamesOutsideTheLimitsAreUsageErrors) {
  expect_refused(run({}, ""), 64, "empty");
  expect_refused(run({}, std::string(513, 'n')), 64, "512");
}

TEST_F(BadInput, DurationsOutsideTheLimitsAreUsageErrors) {
  for (char const* ttl : {"0", "-5s", "1ms", "9999999h", "30", "soon", "", "1e9s"}) {
    expect_refused(run({std::string("--ttl=") + ttl}), 64, "ttl");
  }
  expect_refused(run({"--wait", "eternally"}), 64, "--wait");
  expect_refused(run({"--ttl", "10s", "--grace", "5s"}), 64, "--grace");
}

TEST_F(BadInput, StoreUrlsThatMeanNothingAreUsageErrors) {
  for (char const* url : {"gopher://x", "redis", "redis://:s3cret@h:99999",
                          "sqlite:", "redis://u:s3cret@h?nonsense=1", "://"}) {
    expect_refused({"run", "job", "--store", url, "--", "touch", (folder_ / "ran").string()}, 64,
                   "");
    expect_refused({"demo", "stampede", "--store", url}, 64, "");
  }
}

TEST_F(BadInput, AStoreThatCannotBeReachedIsUnavailable) {
  std::string const url = "redis://user:s3cret@127.0.0.1:" + std::to_string(dead_port());
  expect_refused({"run", "job", "--store", url, "--", "true"}, 69, "127.0.0.1");
  expect_refused({"run", "job", "--", "true"}, 69, "127.0.0.1", {{"HERDLOCK_STORE", url}});
  expect_refused({"demo", "stampede", "--store", url}, 69, "127.0.0.1");
}

TEST_F(BadInput, AWrongPasswordIsUnavailableAndIsNotShown) {
  redis_server server({.password = "right"});
  std::string const url = "redis://:s3cret@127.0.0.1:" + std::to_string(server.port());
  expect_refused({"run", "job", "--store", url, "--", "true"}, 69, "password");
  expect_refused({"demo", "stampede", "--store", url}, 69, "password");
}

TEST_F(BadInput, AnUnwritableSqlitePathIsUnavailable) {
  expect_refused({"run", "job", "--store", "sqlite:/proc/nowhere/s.db", "--", "true"}, 69,
                 "/proc/nowhere");
  expect_refused({"demo", "stampede", "--store", "sqlite:/proc/nowhere/s.db"}, 69, "/proc/nowhere");
  expect_refused({"demo", "stampede", "--origin", "sqlite:/proc/nowhere/o.db"}, 69,
                 "/proc/nowhere");
  expect_refused({"run", "job", "--", "true"}, 69, "/proc/nowhere",
                 {{"XDG_STATE_HOME", "/proc/nowhere"}});
}

TEST_F(BadInput, CommandsThatCannotBeExecutedEndAsInAShell) {
  expect_refused({"run", "job", "--", "no-such-command-anywhere"}, 127, "not found");
  expect_refused({"run", "job", "--", "/no/such/file"}, 127, "not found");
  expect_refused({"run", "job", "--", "/"}, 126, "cannot be executed");
  auto const file = folder_ / "not-executable";
  std::ofstream(file) << "#!/bin/sh\n";
  expect_refused({"run", "job", "--", file.string()}, 126, "cannot be executed");
  auto const broken = folder_ / "broken";
  std::ofstream(broken) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  words const late{"run", "job",          "--store", "sqlite:" + (folder_ / "s.db").string(),
                   "--",  broken.string()};
  expect_refused(late, 127, "not found");
  expect_refused(late, 127, "not found");  // not busy: the first gave the lease back
}

TEST_F(BadInput, OfTheDemoIsRefusedBeforeAnythingIsStarted) {
  auto const refuse = [](words options, int code, std::string const& part) {
    options.insert(options.begin(), {"demo", "stampede"});
    expect_refused(options, code, part);
  };
  refuse({"--mode", "hopeful"}, 64, "hopeful");
  refuse({"--mode", "fleet,hopeful"}, 64, "double-lock, hash");
  refuse({"--mode", "fleet,early,fleet"}, 64, "fleet is twice");
  refuse({"--mode", ""}, 64, "--mode");
  refuse({"--processes", "0"}, 64, "--processes");
  refuse({"--processes", "many"}, 64, "many");
  refuse({"--requests", "-1"}, 64, "--requests");
  refuse({"--expiries", "0"}, 64, "--expiries");
  refuse({"--load-time", "0"}, 64, "--load-time");
  refuse({"--load-time", "50"}, 64, "--load-time");
  refuse({"--store", "memory:"}, 64, "--processes 1");
  refuse({"--mode", "naive", "--kill-loader"}, 64, "--kill-loader");
  refuse({"--mode", "double-lock", "--locks", "memory:"}, 64, "--processes 1");
  refuse({"--mode", "double-lock", "--locks", "carrier-pigeon:"}, 64, "carrier-pigeon");
  refuse({"--mode", "double-lock", "--locks",
          "mysql://u:s3cret@127.0.0.1:" + std::to_string(dead_port()) + "/d"},
         69, "127.0.0.1");
  refuse({"--plot", "/no/such/folder/x.svg"}, 64, "--plot");
  refuse({"--origin", "postgres://u:s3cret@h/d"}, 64, "postgres");
  refuse({"--origin", "mysql://u:s3cret@h"}, 64, "database");
  refuse({"--origin", "mysql://u:s3cret@127.0.0.1:" + std::to_string(dead_port()) + "/d"}, 69,
         "127.0.0.1");
}

// No server is asked: these are dead.
TEST_F(BadInput, AModeOfTheDemoThatTheStoreCannotDoIsRefusedByItsName) {
  std::string const at = "127.0.0.1:" + std::to_string(dead_port());
  for (std::string const& url :
       {"mysql://u:s3cret@" + at + "/d", "redis://" + at + "?dialect=getset"}) {
    expect_refused({"demo", "stampede", "--store", url, "--mode", "early"}, 64,
                   "mode early: store ");
    expect_refused({"demo", "stampede", "--store", url, "--mode", "double-lock"}, 64,
                   "keeps leases only");
  }
}

// Somebody's shop has a table Product too.
TEST_F(BadInput, AnOriginWithATableOfSomebodyElseIsLeftAlone) {
  auto& server = mariadb_server::shared();
  std::string const url = server.url("shop");
  server.sql(
      "CREATE TABLE shop.Product(id INT PRIMARY KEY, sku VARCHAR(9));"
      "INSERT INTO shop.Product VALUES (42, 'theirs')");
  expect_refused({"demo", "stampede", "--origin", url}, 64, "not the demo's");
  EXPECT_EQ(server.sql("SELECT * FROM shop.Product"), "42\ttheirs\n");
  EXPECT_EQ(server.sql("SHOW TABLES FROM shop"), "Product\n");
}

TEST_F(BadInput, LeavesNothingInTheStore) {
  auto& server = redis_server::shared();
  server.flush();
  auto const with = [&](words arguments) {
    arguments.insert(arguments.end(), {"--store", server.url(), "--"});
    return arguments;
  };
  words const bad[] = {with({"run", ""}), with({"run", std::string(513, 'n')}),
                       with({"run", "job", "--ttl", "0"}), with({"run", "job", "--ttl", "2y"})};
  for (words arguments : bad) {
    arguments.push_back("true");
    EXPECT_EQ(run_herdlock(arguments).code, 64);
  }
  words missing = with({"run", "job"});
  missing.push_back("no-such-command-anywhere");
  EXPECT_EQ(run_herdlock(missing).code, 127);
  EXPECT_EQ(server.cli("DBSIZE"), "0");
}

}  // namespace
