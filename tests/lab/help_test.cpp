// What herdlock-lab says about itself, and what is said of bad input before anything is started.
#include <gtest/gtest.h>

#include <support/program_help.hpp>

#include "lab_command.hpp"

namespace {

using namespace herdlock_test;
using words = std::vector<std::string>;

void expect_help(char const* scene, words const& parts) {
  auto const help = run_lab({scene, "--help"});
  EXPECT_EQ(help.code, 0);
  for (auto const& part : parts) {
    EXPECT_NE(help.out.find(part), std::string::npos) << part << "\n" << help.out;
  }
}

TEST(LabHelp, OfTheStampedeTellsTheModesAndGivesExamples) {
  expect_help("stampede",
              {" naive ", " process ", " fleet ", " early ", " logical ", " double-lock ", " hash ",
               " near ", "--locks", "--plot", "--json", "--kill-loader", "mysql://", "Examples"});
}

TEST(LabHelp, OfNearTellsWhatIsSeenAndHowToGetAServer) {
  expect_help("near", {"redis://HOST:PORT", "  old ", "  waits ", "  fails ", "--max-staleness",
                       "--freeze", "redis-server --port", "HERDLOCK_STORE", "list of processes",
                       "69", "64", "Examples"});
}

TEST(LabHelp, OfHotkeyTellsWhatIsMeasuredAndHowToGetAServer) {
  expect_help("hotkey",
              {"--store", "--processes", "--rate", "--keys", "--threshold", "--time", "--json",
               "--plot", "  found ", "  kept ", "  cooled ", "redis-server --port",
               "HERDLOCK_STORE", "list of processes", "69", "64", "Examples"});
}

TEST(LabHelp, WithoutASceneIsAUsageError) {
  auto const nothing = run_lab({});
  EXPECT_EQ(nothing.code, 64);
  EXPECT_EQ(nothing.out, "");
  EXPECT_NE(nothing.err.find("stampede"), std::string::npos) << nothing.err;
}

TEST(LabHelp, AnUnknownSceneOrOptionIsOneLine) {
  for (auto const& typed : {words{"frobnicate"}, words{"stampede", "--frobnicate"}}) {
    auto const refused = run_lab(typed);
    EXPECT_EQ(refused.code, 64);
    EXPECT_EQ(lines_of(refused.err).size(), 1u) << refused.err;
    EXPECT_NE(refused.err.find("frobnicate"), std::string::npos) << refused.err;
  }
}

TEST(EveryScene, HasHelpWithItsOwnUsageLineAndJson) {
  program_help const help(HERDLOCK_LAB);
  EXPECT_GE(help.commands().size(), 20u);
  help.expect_usage_lines_and_json({"herdlock-lab help"});
}

TEST(EveryScene, HasAManualSectionWithItsOptions) {
  program_help(HERDLOCK_LAB).expect_a_manual_page();
}

TEST(EveryScene, IsCompletedByTheShellWithItsOptions) {
  program_help(HERDLOCK_LAB).expect_completion_by_bash();
}

TEST(EveryScene, IsKnownToTheOtherShellsToo) {
  program_help(HERDLOCK_LAB).expect_completion_by_other_shells();
}

}  // namespace
