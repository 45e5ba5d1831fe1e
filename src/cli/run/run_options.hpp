// `herdlock run`: what was asked for, checked.
#pragma once

#include <CLI/App.hpp>
#include <herdlock/lock.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/event_log.hpp"
#include "common/guard.hpp"
#include "terminal/store_argument.hpp"
#include "terminal/store_choice.hpp"

namespace herdlock::cli {

/// What becomes of a run that does not get the lease because another has it.
enum class busy_policy {
  fail,   ///< a line, status 75
  quiet,  ///< nothing, status 0
};

/// As typed.
struct run_arguments {
  std::string name;
  store_arguments store;
  std::string ttl = "30s";
  std::string wait = "none";
  std::string grace;  ///< empty: a quarter of the ttl, at most 10 s
  std::string max_hold;
  std::string min_hold;  ///< empty: no longer than CMD runs
  std::string once_per;
  std::string retry = "none";
  std::string on_loss = "term";
  std::string if_busy = "fail";
  bool once = false;  ///< --try
  bool verbose = false;
  bool json = false;
  std::vector<std::string> command;
};

/// As meant.
struct run_options {
  resource name;
  std::string store_url;
  store_choice store_named;
  milliseconds ttl;
  milliseconds wait;  ///< run_plan.hpp says how this, `retry` and `min_hold` go together
  std::optional<milliseconds> grace;
  std::optional<milliseconds> max_hold;
  milliseconds min_hold;  ///< 0: no longer than the command runs
  milliseconds once_per;  ///< 0: as often as it is started
  milliseconds retry;
  loss_policy on_loss;
  busy_policy if_busy;
  event_form log;
  std::vector<std::string> command;
};

/// Adds the subcommand. What stands after `--` is not CLI11's business: the caller puts it into
/// `arguments.command`.
CLI::App* add_run_command(CLI::App& app, run_arguments& arguments);

/// Throws command_error (usage) naming the argument that is wrong.
run_options check(run_arguments const& arguments);

}  // namespace herdlock::cli
