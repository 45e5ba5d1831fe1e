// `herdlock run` on a store that is away at first, and for how long it keeps its lease.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <support/eventually.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "each_store.hpp"
#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using words = std::vector<std::string>;

words run_of(std::string const& url, words options, std::string const& script) {
  words all{"run", "job", "--store", url};
  all.insert(all.end(), options.begin(), options.end());
  all.insert(all.end(), {"--", "sh", "-c", script});
  return all;
}

class RunAway : public ::testing::TestWithParam<std::string> {
 protected:
  std::string url() const { return server_.url() + "?timeout=200ms"; }
  redis_server server_;
};

// B26: the first look is the one that finds nobody there.
TEST_P(RunAway, AStoreThatComesBackInTimeIsUsed) {
  server_.kill();
  auto run = start_herdlock(run_of(url(), {GetParam(), "1h"}, "echo made"));
  ASSERT_TRUE(eventually([&] { return run.errors().find("tries on") != std::string::npos; }))
      << run.errors();
  server_.restart();
  EXPECT_EQ(run.wait(), (exit_status{.code = 0, .signal = {}})) << run.errors();
  EXPECT_EQ(run.output(), "made\n");
  EXPECT_EQ(lines_of(run.errors()).size(), 1u) << "told once: " << run.errors();
}

TEST_P(RunAway, AStoreThatStaysAwayIsUnavailableWhenTheTimeIsOver) {
  server_.kill();
  auto const run = run_herdlock(run_of(url(), {GetParam(), "1s"}, "echo never"));
  EXPECT_EQ(run.code, 69) << run.err;
  EXPECT_EQ(run.out, "");
}

TEST_P(RunAway, ASignalEndsTheTrying) {
  server_.kill();
  auto run = start_herdlock(run_of(url(), {GetParam(), "forever"}, "echo never"));
  ASSERT_TRUE(eventually([&] { return run.errors().find("tries on") != std::string::npos; }))
      << run.errors();
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), (exit_status{.code = 128 + SIGTERM, .signal = {}})) << run.errors();
}

INSTANTIATE_TEST_SUITE_P(Options, RunAway, ::testing::Values("--wait", "--retry"),
                         [](auto const& each) { return each.param.substr(2); });

class RunHold : public each_store {
 protected:
  command_result run(words options, std::string const& script) const {
    return run_herdlock(run_of(url(), std::move(options), script));
  }
};

// B25: machines whose clocks differ start the same night's job one after the other.
TEST_P(RunHold, ShortWorkKeepsTheLeaseForAsLongAsItIsTold) {
  auto const began = herdlock::clock::now();
  EXPECT_EQ(run({"--min-hold", "1s"}, "exit 3").code, 3) << "whatever the command's status";
  auto const next = run({"--wait", "1h"}, "true");
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_GE(herdlock::clock::now() - began, 1s);
}

TEST_P(RunHold, WhoComesWhileItIsKeptIsTooLate) {
  auto first = start_herdlock(
      run_of(url(), {"--min-hold", "1h", "--verbose"}, "touch " + (folder_ / "made").string()));
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "made"); })) << first.errors();
  ASSERT_TRUE(eventually([&] { return first.errors().find("keeps ") != std::string::npos; }))
      << first.errors();
  EXPECT_EQ(run({"--if-busy", "quiet"}, "echo twice").out, "");
  EXPECT_EQ(run({}, "true").code, 75);
}

INSTANTIATE_TEST_SUITE_P(Stores, RunHold, ::testing::Values("sqlite", "redis"),
                         [](auto const& each) { return each.param; });

TEST(RunRefusals, AStoreInOneProcessExcludesNobody) {
  auto const refused = run_herdlock(run_of("memory:", {}, "echo never"));
  EXPECT_EQ(refused.code, 64);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("memory:"), std::string::npos) << refused.err;
  auto const set = run_herdlock({"run", "job", "--", "true"}, {{"HERDLOCK_STORE", "memory:"}});
  EXPECT_EQ(set.code, 64) << set.err;
}

TEST(RunRefusals, TimesThatCannotBeKept) {
  temp_dir folder;
  auto const url = "sqlite:" + (folder / "s.db").string();
  for (char const* time : {"0", "1ms", "8761h", "soon", "30", "-1s"}) {
    auto const refused = run_herdlock(run_of(url, {std::string("--min-hold=") + time}, "echo no"));
    EXPECT_EQ(refused.code, 64) << time << refused.err;
    EXPECT_NE(refused.err.find("--min-hold"), std::string::npos) << refused.err;
    EXPECT_EQ(refused.out, "") << time;
  }
  auto const retry = run_herdlock(run_of(url, {"--retry", "eternally"}, "echo no"));
  EXPECT_EQ(retry.code, 64);
  EXPECT_NE(retry.err.find("--retry"), std::string::npos) << retry.err;
}

}  // namespace
