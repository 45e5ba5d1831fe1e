// `herdlock elect`: what was asked for, checked.
#pragma once

#include <CLI/App.hpp>
#include <herdlock/election.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/event_log.hpp"
#include "terminal/store_argument.hpp"
#include "terminal/store_choice.hpp"

namespace herdlock::cli {

/// As typed.
struct elect_arguments {
  std::string name;
  store_arguments store;
  std::string ttl = "30s";
  std::string grace;  ///< empty: a quarter of the ttl, at most 10 s
  std::string rest = "200ms";
  std::string candidate;  ///< empty: host:pid:random
  std::string diagram;
  int terms = 0;
  bool once = false;
  bool verbose = false;
  bool json = false;
  std::vector<std::string> command;
};

/// As meant.
struct elect_options {
  resource name;
  std::string store_url;
  store_choice store_named;
  milliseconds ttl;
  std::optional<milliseconds> grace;
  milliseconds rest;
  std::string candidate;
  std::optional<int> terms;  ///< stand down after so many
  bool once;                 ///< stand down when the command ends by itself
  event_form log;
  std::vector<std::string> command;
};

/// Adds the subcommand. What stands after `--` is put into `arguments.command` by the caller.
CLI::App* add_elect_command(CLI::App& app, elect_arguments& arguments);

/// The picture that was asked for. Throws command_error (usage).
std::optional<diagram_format> diagram_asked_for(elect_arguments const& arguments);

/// Throws command_error (usage) naming the argument that is wrong.
elect_options check(elect_arguments const& arguments);

}  // namespace herdlock::cli
