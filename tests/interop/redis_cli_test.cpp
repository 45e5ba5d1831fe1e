// The composed scripts are Lua files that anybody can run: the server parses each of them, and
// redis-cli takes a lease by hand.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>
#include <vector>

namespace herdlock_test {
namespace {

std::string text_of(std::filesystem::path const& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The lines that redis-cli prints.
std::vector<std::string> acquire_by_hand(std::string const& owner) {
  auto const script = std::filesystem::path(COMPOSED_SCRIPTS) / "acquire.lua";
  std::istringstream printed(run_command(
      {.argv = {find_program("redis-cli", "redis-tools"), "-p",
                std::to_string(redis_server::shared().port()), "--eval", script.string(), "r",
                "{r}:herdlock:fence", "{r}:herdlock:queue", ",", owner, "30000", "0"}}));
  std::vector<std::string> lines;
  for (std::string line; std::getline(printed, line);) lines.push_back(line);
  return lines;
}

TEST(redis_cli, TheServerParsesEachComposedScript) {
  auto& server = redis_server::shared();
  server.flush();
  int scripts = 0;
  for (auto const& file : std::filesystem::directory_iterator(COMPOSED_SCRIPTS)) {
    auto const answer = server.command({"SCRIPT", "LOAD", text_of(file.path())});
    EXPECT_TRUE(std::regex_match(answer, std::regex("[0-9a-f]{40}"))) << file << ": " << answer;
    ++scripts;
  }
  EXPECT_GT(scripts, 20);
}

TEST(redis_cli, TakesALeaseWithTheComposedScriptAndGetsAFencingToken) {
  auto& server = redis_server::shared();
  server.flush();
  auto const granted = acquire_by_hand("me");
  ASSERT_EQ(granted.size(), 1U);
  EXPECT_EQ(granted[0], server.cli("GET {r}:herdlock:fence"));
  EXPECT_EQ(server.cli("GET r"), "me");
  auto const held = acquire_by_hand("you");
  ASSERT_EQ(held.size(), 3U) << "time left, holder, token";
  EXPECT_EQ(held[1], "me");
  EXPECT_EQ(held[2], granted[0]);
}

}  // namespace
}  // namespace herdlock_test
