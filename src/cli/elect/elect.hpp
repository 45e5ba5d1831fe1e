// `herdlock elect`: a command that runs on the leader, restarted at each term.
#pragma once

#include <herdlock/election.hpp>
#include <optional>
#include <string>

#include "common/work_options.hpp"

namespace herdlock::cli {

struct elect_options {
  work_options work;
  milliseconds rest;
  std::string candidate;     ///< empty: host:pid:random
  std::optional<int> terms;  ///< stand down after so many
  bool once;                 ///< stand down when the command ends by itself
};

/// Returns the exit status; throws command_error for everything that gets one line.
int elect(elect_options const& options);

}  // namespace herdlock::cli
