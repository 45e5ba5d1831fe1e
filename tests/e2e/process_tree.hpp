// The processes that a command has started.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <support/eventually.hpp>
#include <vector>

namespace herdlock_test {

/// The pids of the processes whose parent this is.
inline std::vector<std::string> children_of(pid_t parent) {
  auto const name = std::to_string(parent);
  std::ifstream file("/proc/" + name + "/task/" + name + "/children");
  return std::vector<std::string>(std::istream_iterator<std::string>(file), {});
}

inline void expect_all_gone(std::vector<std::string> const& pids) {
  for (auto const& pid : pids) {
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists("/proc/" + pid); })) << pid;
  }
}

}  // namespace herdlock_test
