#include "herdlock_command.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace herdlock_test {

child_process start_herdlock(std::vector<std::string> arguments, environment env) {
  // In a session of its own, so that no test takes or stops the terminal that it is started from.
  arguments.insert(arguments.begin(), {"setsid", HERDLOCK_COMMAND});
  environment all{{"HERDLOCK_STORE", ""}, {"HERDLOCK_LOCKS", ""}, {"HERDLOCK_ORIGIN", ""}};
  for (auto& [name, value] : env) {
    std::erase_if(all, [&](auto const& each) { return each.first == name; });
    all.emplace_back(name, value);
  }
  return child_process({.argv = std::move(arguments), .env = std::move(all)});
}

command_result run_herdlock(std::vector<std::string> arguments, environment env) {
  child_process child = start_herdlock(std::move(arguments), std::move(env));
  auto const ended = child.wait(std::chrono::minutes(2));
  EXPECT_TRUE(ended) << "herdlock did not end; it said: " << child.errors();
  return {ended && ended->code ? *ended->code : -1, child.output(), child.errors()};
}

std::vector<std::string> lines_of(std::string const& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string content(std::filesystem::path const& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  // Not by an iterator, which throws when a file of /proc ends with its process.
  text << stream.rdbuf();
  return text.str();
}

}  // namespace herdlock_test
