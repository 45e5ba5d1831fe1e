// `herdlock demo election`: who waits, who works, and who takes over.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace herdlock::cli {

struct election_demo_options {
  std::string store;  ///< empty: a temporary SQLite file
  int workers = 3;
  std::string ttl = "2s";
  std::string stop = "all";
  bool json = false;
};

CLI::App* add_election_command(CLI::App& demo, election_demo_options& arguments);

/// Throws command_error (usage) naming what is wrong.
void check(election_demo_options const& options);

/// Returns the exit status; throws command_error for everything that gets one line.
int election_demo(election_demo_options options);

}  // namespace herdlock::cli
