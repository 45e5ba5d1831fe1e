// One of our programs, run to its end or kept running, as a user has it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <support/child_process.hpp>
#include <utility>
#include <vector>

namespace herdlock_test {

struct command_result {
  int code = -1;  ///< -1: it was killed by a signal, or did not end
  std::string out;
  std::string err;
};

using environment = std::vector<std::pair<std::string, std::string>>;

/// HERDLOCK_STORE, HERDLOCK_LOCKS and HERDLOCK_ORIGIN are empty unless given.
inline child_process start_program(char const* program, std::vector<std::string> arguments,
                                   environment env) {
  // In a session of its own, so that no test takes or stops the terminal that it is started from.
  arguments.insert(arguments.begin(), {"setsid", program});
  environment all{{"HERDLOCK_STORE", ""}, {"HERDLOCK_LOCKS", ""}, {"HERDLOCK_ORIGIN", ""}};
  for (auto& [name, value] : env) {
    std::erase_if(all, [&](auto const& each) { return each.first == name; });
    all.emplace_back(name, value);
  }
  return child_process({.argv = std::move(arguments), .env = std::move(all)});
}

/// Waits for its end.
inline command_result result_of(child_process child) {
  auto const ended = child.wait(std::chrono::minutes(2));
  EXPECT_TRUE(ended) << "the program did not end; it said: " << child.errors();
  return {ended && ended->code ? *ended->code : -1, child.output(), child.errors()};
}

/// The lines of a text, without their ends.
inline std::vector<std::string> lines_of(std::string const& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Of a file, as far as it can be read; empty when there is none.
inline std::string content(std::filesystem::path const& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  // Not by an iterator, which throws when a file of /proc ends with its process.
  text << stream.rdbuf();
  return text.str();
}

}  // namespace herdlock_test
