// `herdlock run` on a store that is away at first, and for how long it keeps its lease.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <herdlock/types.hpp>
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

TEST_P(RunHold, WhoComesBeforeIsTooLateAndTheCommandDoesNotStay) {
  EXPECT_EQ(run({"--min-hold", "1h"}, "exit 3").code, 3);
  EXPECT_EQ(run({"--if-busy", "quiet"}, "echo twice").out, "");
  EXPECT_EQ(run({}, "true").code, 75);
}

INSTANTIATE_TEST_SUITE_P(Stores, RunHold, ::testing::Values("sqlite", "redis"),
                         [](auto const& each) { return each.param; });

class RunOnce : public RunHold {};

TEST_P(RunOnce, WhatIsDoneIsNotDoneAgain) {
  auto const first = run({"--once-per", "1h"}, "echo made");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out + first.err, "made\n");
  auto const second = run({"--once-per", "1h"}, "echo made");
  EXPECT_EQ(second.code, 0);
  EXPECT_EQ(second.out + second.err, "") << "as for cron";
  auto const third = run({"--once-per", "1h", "--verbose", "--wait", "1h"}, "echo made");
  EXPECT_EQ(third.code, 0) << "who waits is told, too";
  EXPECT_EQ(third.out, "");
  EXPECT_NE(third.err.find("done already"), std::string::npos) << third.err;
  EXPECT_EQ(run({}, "true").code, 75) << "to others it is busy";
  auto const shown = run_herdlock({"show", "job", "--store", url()});
  EXPECT_NE(shown.out.find(": done by "), std::string::npos) << shown.out;
}

TEST_P(RunOnce, WhoWaitsWhileItIsDoneEndsWithIt) {
  auto const go = folder_ / "go";
  auto first = start_herdlock(run_of(url(), {"--once-per", "1h"},
                                     "touch " + (folder_ / "begun").string() + "; while [ ! -e " +
                                         go.string() + " ]; do sleep 0.01; done"));
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "begun"); })) << first.errors();
  auto second = start_herdlock(
      run_of(url(), {"--once-per", "1h", "--wait", "forever", "--verbose"}, "echo twice"));
  ASSERT_TRUE(eventually([&] { return second.errors().find("asks ") != std::string::npos; }));
  EXPECT_EQ(run({"--wait", "100ms"}, "true").code, 75);
  std::ofstream(go).flush();
  EXPECT_EQ(first.wait(), (exit_status{.code = 0, .signal = {}})) << first.errors();
  EXPECT_EQ(second.wait(), (exit_status{.code = 0, .signal = {}})) << second.errors();
  EXPECT_EQ(second.output(), "");
}

TEST_P(RunOnce, WhatFailedIsTriedAgain) {
  EXPECT_EQ(run({"--once-per", "1h"}, "exit 3").code, 3);
  EXPECT_EQ(run({"--once-per", "1h", "--min-hold", "1h"}, "exit 4").code, 4);
  EXPECT_EQ(run({"--once-per", "1h"}, "true").code, 75) << "held, and not done";
}

TEST_P(RunOnce, TheNextNightFindsItFree) {
  EXPECT_EQ(run({"--once-per", "1s"}, "echo made").out, "made\n");
  EXPECT_TRUE(eventually([&] { return run({"--once-per", "1h"}, "echo made").out == "made\n"; }));
}

INSTANTIATE_TEST_SUITE_P(Stores, RunOnce, ::testing::Values("sqlite", "redis"),
                         [](auto const& each) { return each.param; });

TEST(RunRefusals, ALeaseThatCannotBeLeftCannotBeDone) {
  auto const refused = run_herdlock(
      run_of("redis://127.0.0.1:1?dialect=getset", {"--once-per", "1h"}, "echo never"));
  EXPECT_EQ(refused.code, 64);
  EXPECT_NE(refused.err.find("--once-per"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.out, "");
}

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
  for (std::string const option : {"--min-hold", "--once-per"}) {
    for (char const* time : {"0", "1ms", "8761h", "soon", "30", "-1s"}) {
      auto const refused = run_herdlock(run_of(url, {option + "=" + time}, "echo no"));
      EXPECT_EQ(refused.code, 64) << time << refused.err;
      EXPECT_NE(refused.err.find(option), std::string::npos) << refused.err;
      EXPECT_EQ(refused.out, "") << time;
    }
  }
  auto const both = run_herdlock(run_of(url, {"--min-hold", "2h", "--once-per", "1h"}, "echo no"));
  EXPECT_EQ(both.code, 64) << both.err;
  auto const held = run_herdlock(run_of(url, {"--min-hold", "2h", "--max-hold", "1h"}, "echo no"));
  EXPECT_EQ(held.code, 64) << held.err;
  auto const retry = run_herdlock(run_of(url, {"--retry", "eternally"}, "echo no"));
  EXPECT_EQ(retry.code, 64);
  EXPECT_NE(retry.err.find("--retry"), std::string::npos) << retry.err;
}

}  // namespace
