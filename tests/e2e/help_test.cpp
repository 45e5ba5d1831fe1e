// What the command says about itself.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <support/temp_dir.hpp>

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
       {"  naive ", "  process ", "  fleet ", "  early ", "  logical ", "  double-lock ", "  hash ",
        "  near ", "--locks", "--plot", "--json", "--kill-loader", "mysql://", "Examples"}) {
    EXPECT_TRUE(has(help.out, part)) << part << "\n" << help.out;
  }
}

TEST(Help, OfTheNearDemoTellsWhatIsSeenAndHowToGetAServer) {
  auto const help = run_herdlock({"demo", "near", "--help"});
  EXPECT_EQ(help.code, 0);
  for (char const* part :
       {"redis://HOST:PORT", "  old ", "  waits ", "  fails ", "--max-staleness", "--freeze",
        "redis-server --port", "HERDLOCK_STORE", "list of processes", "69", "64", "Examples"}) {
    EXPECT_TRUE(has(help.out, part)) << part << "\n" << help.out;
  }
}

TEST(Help, OfTheHotkeyDemoTellsWhatIsMeasuredAndHowToGetAServer) {
  auto const help = run_herdlock({"demo", "hotkey", "--help"});
  EXPECT_EQ(help.code, 0);
  for (char const* part :
       {"--store", "--processes", "--rate", "--keys", "--threshold", "--time", "--json", "--plot",
        "  found ", "  kept ", "  cooled ", "redis-server --port", "HERDLOCK_STORE",
        "list of processes", "69", "64", "Examples"}) {
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

// ------------------------------------------ of every command that there is, whoever added it

std::vector<std::string> words_of(std::string const& path) {
  std::istringstream in(path);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  words.erase(words.begin());  // herdlock
  return words;
}

std::set<std::string> options_in(std::string const& help) {
  std::set<std::string> found;
  // An option stands at the beginning of its line: a footer names others.
  std::regex const option("^  (?:-[a-zA-Z],? ?)?(--[a-z][a-z-]+)");
  for (auto const& line : herdlock_test::lines_of(help)) {
    std::smatch at;
    if (std::regex_search(line, at, option)) found.insert(at[1]);
  }
  return found;
}

class EveryCommand : public Test {
 protected:
  EveryCommand() : all_(herdlock_test::lines_of(run_herdlock({"help", "--commands"}).out)) {
    EXPECT_GE(all_.size(), 6u);
  }
  static std::string help_of(std::string const& path) {
    auto words = words_of(path);
    words.push_back("--help");
    auto const help = run_herdlock(words);
    EXPECT_EQ(help.code, 0) << path;
    return help.out;
  }

  std::vector<std::string> const all_;
};

TEST_F(EveryCommand, HasHelpWithItsOwnUsageLineAndJson) {
  for (auto const& path : all_) {
    auto const help = help_of(path);
    EXPECT_TRUE(has(help, "Usage: " + path)) << path;
    // What `run` prints is the command's, and `help` alone is for people.
    bool const is_exempt = path == "herdlock run" || path == "herdlock help";
    EXPECT_TRUE(options_in(help).count("--json") == 1 || is_exempt) << path;
  }
}

TEST_F(EveryCommand, HasAManualSectionWithItsOptions) {
  auto const man = run_herdlock({"help", "--man"});
  ASSERT_EQ(man.code, 0);
  EXPECT_EQ(man.out.rfind(".TH HERDLOCK 1", 0), 0u);
  for (auto const& path : all_) {
    auto const begin = man.out.find(".SS \"" + path + "\"\n");
    ASSERT_NE(begin, std::string::npos) << path;
    auto const section = man.out.substr(begin, man.out.find(".SS", begin + 1) - begin);
    for (auto const& option : options_in(help_of(path))) {
      auto const in_roff = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_TRUE(has(section, "\\fB" + in_roff + "\\fR")) << path << " " << option;
    }
  }
}

TEST_F(EveryCommand, IsCompletedByTheShellWithItsOptions) {
  herdlock_test::temp_dir folder;
  auto const script = (folder.path() / "completion").string();
  herdlock_test::run_command(
      {.argv = {"sh", "-c", "\"$0\" help --completion bash > \"$1\"", HERDLOCK_COMMAND, script}});
  for (auto const& path : all_) {
    auto const answer = herdlock_test::run_command(
        {.argv = {"bash", "-c",
                  "source \"$1\"; COMP_WORDS=($2 --); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
                  "_herdlock; printf '%s\\n' \"${COMPREPLY[@]}\"",
                  "bash", script, path}});
    auto const offered = herdlock_test::lines_of(answer);
    std::set<std::string> const found(offered.begin(), offered.end());
    for (auto const& option : options_in(help_of(path))) {
      EXPECT_EQ(found.count(option), 1u) << path << " " << option << "\n" << answer;
    }
  }
}

TEST_F(EveryCommand, IsKnownToTheOtherShellsToo) {
  auto const zsh = run_herdlock({"help", "--completion", "zsh"}).out;
  auto const fish = run_herdlock({"help", "--completion", "fish"}).out;
  for (auto const& path : all_) {
    EXPECT_TRUE(has(zsh, "'" + path + "')")) << path;
    EXPECT_TRUE(has(fish, " -a " + words_of(path).back() + " ")) << path;
  }
  EXPECT_EQ(run_herdlock({"help", "--completion", "tcsh"}).code, 64);
}

}  // namespace
