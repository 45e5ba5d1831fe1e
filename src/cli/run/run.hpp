// `herdlock run`: a command that runs only while the lease is held.
#pragma once

#include "common/guard.hpp"
#include "common/work_options.hpp"
#include "run/run_plan.hpp"

namespace herdlock::cli {

/// What becomes of a run that does not get the lease because another has it.
enum class busy_policy {
  fail,   ///< a line, status 75
  quiet,  ///< nothing, status 0
};

struct run_options {
  work_options work;
  run_times times;
  std::optional<milliseconds> max_hold{};
  loss_policy on_loss{};
  busy_policy if_busy{};
};

/// Returns the exit status; throws command_error for everything that gets one line.
int run(run_options const& options);

}  // namespace herdlock::cli
