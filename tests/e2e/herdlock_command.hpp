// The herdlock binary, run to its end or kept running.
#pragma once

#include <filesystem>
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

/// Starts `herdlock ARGUMENTS`. HERDLOCK_STORE, HERDLOCK_LOCKS and HERDLOCK_ORIGIN are empty unless
/// given.
child_process start_herdlock(std::vector<std::string> arguments, environment env = {});

/// The same, and waits for its end.
command_result run_herdlock(std::vector<std::string> arguments, environment env = {});

/// The lines of a text, without their ends.
std::vector<std::string> lines_of(std::string const& text);

/// Of a file, as far as it can be read; empty when there is none.
std::string content(std::filesystem::path const& file);

}  // namespace herdlock_test
