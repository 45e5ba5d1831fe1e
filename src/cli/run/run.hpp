// `herdlock run`: a command that runs only while the lease is held.
#pragma once

#include <optional>

#include "common/guard.hpp"
#include "common/work_options.hpp"

namespace herdlock::cli {

/// What becomes of a run that does not get the lease because another has it.
enum class busy_policy {
  fail,   ///< a line, status 75
  quiet,  ///< nothing, status 0
};

struct run_options {
  work_options work;
  milliseconds wait;  ///< run_plan.hpp says how this, `retry` and `min_hold` go together
  std::optional<milliseconds> max_hold;
  milliseconds min_hold;  ///< 0: no longer than the command runs
  milliseconds once_per;  ///< 0: as often as it is started
  milliseconds retry;
  loss_policy on_loss;
  busy_policy if_busy;
};

/// Returns the exit status; throws command_error for everything that gets one line.
int run(run_options const& options);

}  // namespace herdlock::cli
