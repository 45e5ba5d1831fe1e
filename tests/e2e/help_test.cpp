// What the command says about itself.
#include <gtest/gtest.h>

#include "herdlock_command.hpp"

namespace {

using herdlock_test::run_herdlock;
using ::testing::Test;

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

TEST(Help, TellsTheCommandsAndGoesToStandardOutput) {
  auto const help = run_herdlock({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(has(help.out, "run")) << help.out;
  EXPECT_TRUE(has(help.out, "demo")) << help.out;
  EXPECT_EQ(help.err, "");
}

TEST(Help, OfRunTellsTheExitCodesAndWarnsOfPasswordsInTheListOfProcesses) {
  auto const help = run_herdlock({"run", "--help"});
  EXPECT_EQ(help.code, 0);
  for (char const* part : {"NAME [OPTIONS] -- CMD", "--ttl", "--wait", "--grace", "HERDLOCK_STORE",
                           "HERDLOCK_FENCING_TOKEN", "75", "76", "69", "64", "list of processes"}) {
    EXPECT_TRUE(has(help.out, part)) << part << "\n" << help.out;
  }
}

TEST(Help, OfTheStampedeTellsTheModesAndGivesExamples) {
  auto const help = run_herdlock({"demo", "stampede", "--help"});
  EXPECT_EQ(help.code, 0);
  for (char const* part :
       {"naive", "process", "fleet", "--plot", "--json", "--kill-loader", "mysql://", "Examples"}) {
    EXPECT_TRUE(has(help.out, part)) << part << "\n" << help.out;
  }
}

TEST(Help, TheVersionIsOneLine) {
  auto const version = run_herdlock({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out.rfind("herdlock ", 0), 0u) << version.out;
  EXPECT_EQ(herdlock_test::lines_of(version.out).size(), 1u);
}

TEST(Help, IsShownWithTheExitCodeOfAUsageErrorWhenNothingIsAsked) {
  auto const nothing = run_herdlock({});
  EXPECT_EQ(nothing.code, 64);
  EXPECT_EQ(nothing.out, "");
  EXPECT_TRUE(has(nothing.err, "herdlock demo stampede")) << nothing.err;
}

TEST(Help, DemoAloneListsTheDemos) {
  auto const demos = run_herdlock({"demo"});
  EXPECT_EQ(demos.code, 0);
  EXPECT_TRUE(has(demos.out, "stampede")) << demos.out;
}

}  // namespace
