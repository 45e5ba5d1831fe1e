// The names of this process's threads, as `ps -L` shows them.
#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace herdlock_test {

inline std::set<std::string> thread_names() {
  std::set<std::string> names;
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    names.insert(name);
  }
  return names;
}

}  // namespace herdlock_test
