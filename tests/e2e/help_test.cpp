// What the command says about itself.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <support/program_help.hpp>

#include "herdlock_command.hpp"

namespace {

using herdlock_test::program_help;
using herdlock_test::run_herdlock;

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

TEST(Help, TellsTheCommandsAndGoesToStandardOutput) {
  auto const help = run_herdlock({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(has(help.out, "run")) << help.out;
  EXPECT_TRUE(has(help.out, "herdlock-lab")) << help.out;
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
  EXPECT_TRUE(has(nothing.err, "herdlock run nightly")) << nothing.err;
}

// For one release; the help does not list them.
TEST(Help, DemosAndBenchesSayWhereTheyHaveGone) {
  struct moved {
    std::vector<std::string> typed;
    char const* now;
  };
  for (auto const& [typed, now] :
       {moved{{"demo", "stampede", "--plot", "x.svg"}, "stampede"},
        moved{{"bench", "takeover"}, "takeover"}, moved{{"demo"}, "--help"},
        moved{{"bench", "--help"}, "--help"}}) {
    auto const ended = run_herdlock(typed);
    EXPECT_EQ(ended.code, 64) << now;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, "herdlock: herdlock " + typed[0] +
                             " has become a program of its own: herdlock-lab " + now + "\n");
  }
  auto const help = run_herdlock({"--help"}).out;
  EXPECT_FALSE(has(help, "demo") || has(help, "bench")) << help;
}

TEST(HelpOptions, PrintsEachSchemeAndOneAloneForPeopleAndPrograms) {
  auto const all = run_herdlock({"help", "options"});
  EXPECT_EQ(all.code, 0);
  EXPECT_TRUE(has(all.out, "memory:\n")) << all.out;
  EXPECT_TRUE(has(all.out, "sqlite:\n")) << all.out;
  auto const one = run_herdlock({"help", "options", "sqlite"});
  EXPECT_FALSE(has(one.out, "max_waiters")) << one.out;
  EXPECT_TRUE(has(one.out, "  timeout ")) << one.out;
  EXPECT_TRUE(has(one.out, "(1ms to 1h). Default: 5s\n")) << one.out;
  auto const json =
      nlohmann::json::parse(run_herdlock({"help", "options", "sqlite", "--json"}).out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["scheme"], "sqlite");
  EXPECT_EQ(json[0]["options"][0]["name"], "timeout");
  EXPECT_EQ(json[0]["options"][0]["type"], "duration");
  EXPECT_EQ(json[0]["options"][0]["default"], "5s");
  EXPECT_EQ(json[0]["options"][0]["range"], "1ms to 1h");
}

TEST(HelpOptions, RefusesASchemeThatItDoesNotKnow) {
  auto const refused = run_herdlock({"help", "options", "sqlit"});
  EXPECT_EQ(refused.code, 64);
  EXPECT_TRUE(has(refused.err, "'sqlit' is not known; there are memory, sqlite")) << refused.err;
}

program_help every_command() {
  program_help const help(HERDLOCK_COMMAND);
  EXPECT_GE(help.commands().size(), 6u);
  return help;
}

// What `run` prints is the command's, and `help` alone is for people.
TEST(EveryCommand, HasHelpWithItsOwnUsageLineAndJson) {
  every_command().expect_usage_lines_and_json({"herdlock run", "herdlock help"});
}

TEST(EveryCommand, HasAManualSectionWithItsOptions) {
  EXPECT_EQ(run_herdlock({"help", "--man"}).out.rfind(".TH HERDLOCK 1", 0), 0u);
  every_command().expect_a_manual_page();
}

TEST(EveryCommand, IsCompletedByTheShellWithItsOptions) {
  every_command().expect_completion_by_bash();
}

TEST(EveryCommand, IsKnownToTheOtherShellsToo) {
  every_command().expect_completion_by_other_shells();
}

}  // namespace
