// What the stampede refuses and how, what it says of itself, and what it is warned of.
#include <gtest/gtest.h>

#include <support/free_port.hpp>
#include <support/mariadb_server.hpp>
#include <support/redis_server.hpp>

#include "lab_command.hpp"

namespace {

using namespace herdlock_test;
using words = std::vector<std::string>;

// The leak check looks at every thread, and says so of one that has been joined and that the kernel
// has not taken off its list yet.
bool is_of_the_sanitizer(std::string const& line) {
  return line.starts_with("==") && line.find("Unable to get registers") != line.npos;
}

// One line that begins with the program's name, says `part`, and shows no password.
void expect_refused(words options, int code, std::string const& part) {
  options.insert(options.begin(), "stampede");
  auto const refused = run_lab(options);
  std::string const what = ::testing::PrintToString(options);
  EXPECT_EQ(refused.code, code) << what << "\n" << refused.err;
  auto lines = lines_of(refused.err);
  std::erase_if(lines, is_of_the_sanitizer);
  ASSERT_EQ(lines.size(), 1u) << what << "\n" << refused.err;
  EXPECT_EQ(lines[0].rfind("herdlock-lab: ", 0), 0u) << lines[0];
  EXPECT_NE(lines[0].find(part), std::string::npos) << what << "\n" << lines[0];
  EXPECT_EQ(lines[0].find("s3cret"), std::string::npos) << lines[0];
  EXPECT_EQ(refused.out, "") << what;
}

std::string at_dead_port() { return "127.0.0.1:" + std::to_string(dead_port()); }

TEST(StampedeInput, IsRefusedBeforeAnythingIsStarted) {
  expect_refused({"--frobnicate"}, 64, "frobnicate");
  expect_refused({"--mode", "hopeful"}, 64, "hopeful");
  expect_refused({"--mode", "fleet,hopeful"}, 64, "double-lock, hash");
  expect_refused({"--mode", "fleet,early,fleet"}, 64, "fleet is twice");
  expect_refused({"--mode", ""}, 64, "--mode");
  expect_refused({"--processes", "0"}, 64, "--processes");
  expect_refused({"--processes", "many"}, 64, "many");
  expect_refused({"--requests", "-1"}, 64, "--requests");
  expect_refused({"--expiries", "0"}, 64, "--expiries");
  expect_refused({"--load-time", "0"}, 64, "--load-time");
  expect_refused({"--load-time", "50"}, 64, "--load-time");
  expect_refused({"--store", "memory:"}, 64, "--processes 1");
  expect_refused({"--mode", "naive", "--kill-loader"}, 64, "--kill-loader");
  expect_refused({"--mode", "double-lock", "--locks", "memory:"}, 64, "--processes 1");
  expect_refused({"--mode", "double-lock", "--locks", "carrier-pigeon:"}, 64, "carrier-pigeon");
  expect_refused({"--plot", "/no/such/folder/x.svg"}, 64, "--plot");
  expect_refused({"--origin", "postgres://u:s3cret@h/d"}, 64, "postgres");
  expect_refused({"--origin", "mysql://u:s3cret@h"}, 64, "database");
}

TEST(StampedeInput, StoreUrlsThatMeanNothingAreUsageErrors) {
  for (char const* url : {"gopher://x", "redis", "redis://:s3cret@h:99999",
                          "sqlite:", "redis://u:s3cret@h?nonsense=1", "://"}) {
    expect_refused({"--store", url}, 64, "");
  }
}

TEST(StampedeInput, WhatCannotBeReachedIsUnavailable) {
  std::string const at = at_dead_port();
  expect_refused({"--store", "redis://user:s3cret@" + at}, 69, "127.0.0.1");
  expect_refused({"--mode", "double-lock", "--locks", "mysql://u:s3cret@" + at + "/d"}, 69,
                 "127.0.0.1");
  expect_refused({"--origin", "mysql://u:s3cret@" + at + "/d"}, 69, "127.0.0.1");
  expect_refused({"--store", "sqlite:/proc/nowhere/s.db"}, 69, "/proc/nowhere");
  expect_refused({"--origin", "sqlite:/proc/nowhere/o.db"}, 69, "/proc/nowhere");
  redis_server server({.password = "right"});
  expect_refused({"--store", "redis://:s3cret@127.0.0.1:" + std::to_string(server.port())}, 69,
                 "password");
}

// No server is asked: these are dead.
TEST(StampedeInput, AModeThatTheStoreCannotDoIsRefusedByItsName) {
  std::string const at = at_dead_port();
  for (std::string const& url :
       {"mysql://u:s3cret@" + at + "/d", "redis://" + at + "?dialect=getset"}) {
    expect_refused({"--store", url, "--mode", "early"}, 64, "mode early: store ");
    expect_refused({"--store", url, "--mode", "double-lock"}, 64, "keeps leases only");
  }
}

// Somebody's shop has a table Product too.
TEST(StampedeInput, AnOriginWithATableOfSomebodyElseIsLeftAlone) {
  auto& server = mariadb_server::shared();
  std::string const url = server.url("shop");
  server.sql(
      "CREATE TABLE shop.Product(id INT PRIMARY KEY, sku VARCHAR(9));"
      "INSERT INTO shop.Product VALUES (42, 'theirs')");
  expect_refused({"--origin", url}, 64, "not the demo's");
  EXPECT_EQ(server.sql("SELECT * FROM shop.Product"), "42\ttheirs\n");
  EXPECT_EQ(server.sql("SHOW TABLES FROM shop"), "Product\n");
}

TEST(StampedeInput, TheHelpTellsTheModesAndGivesExamples) {
  auto const help = run_lab({"stampede", "--help"});
  EXPECT_EQ(help.code, 0);
  for (char const* part :
       {"  naive ", "  process ", "  fleet ", "  early ", "  logical ", "  double-lock ", "  hash ",
        "  near ", "--locks", "--plot", "--json", "--kill-loader", "mysql://", "Examples"}) {
    EXPECT_NE(help.out.find(part), std::string::npos) << part << "\n" << help.out;
  }
}

TEST(StampedeInput, AnEvictingServerIsWarnedOfOnce) {
  redis_server server({.arguments = {"--maxmemory-policy", "allkeys-lru"}});
  auto const ended = run_lab({"stampede", "--store", server.url(), "--processes", "2", "--requests",
                              "2", "--expiries", "1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  auto const lines = lines_of(ended.err);
  ASSERT_EQ(lines.size(), 1u) << ended.err;
  EXPECT_EQ(lines[0].rfind("herdlock: warning: ", 0), 0u) << lines[0];
  EXPECT_NE(lines[0].find("allkeys-lru"), std::string::npos) << lines[0];
}

}  // namespace
