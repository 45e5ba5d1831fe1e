// What weakens a lock is said where a person sees it, and does not stop the work.
#include <gtest/gtest.h>

#include <support/redis_server.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;

void expect_one_warning(command_result const& ended, std::string const& about) {
  EXPECT_EQ(ended.code, 0) << ended.err;
  auto const lines = lines_of(ended.err);
  ASSERT_EQ(lines.size(), 1u) << ended.err;
  EXPECT_EQ(lines[0].rfind("herdlock: warning: ", 0), 0u) << lines[0];
  EXPECT_NE(lines[0].find(about), std::string::npos) << lines[0];
}

TEST(Warnings, OfAnEvictingServerAreToldOnce) {
  redis_server server({.arguments = {"--maxmemory-policy", "allkeys-lru"}});
  auto const run = run_herdlock({"run", "job", "--store", server.url(), "--", "echo", "done"});
  expect_one_warning(run, "allkeys-lru");
  EXPECT_EQ(run.out, "done\n");
}

TEST(Warnings, AreNotGivenForAnOrdinaryServer) {
  redis_server server;
  auto const run = run_herdlock({"run", "job", "--store", server.url(), "--", "true"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "");
}

}  // namespace
