// `herdlock bench takeover`: how soon somebody else leads, and whether ever two did.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "scenes/takeover_rounds.hpp"

namespace herdlock::cli {

struct takeover_options {
  std::vector<std::string> urls;
  int rounds = 10;
  std::string ttl = "2s";
  std::string excess = "1s";
  std::string stop = "all";
  bool json = false;
};

CLI::App* add_takeover_command(CLI::App& bench, takeover_options& arguments);

/// Throws command_error (usage) naming what is wrong.
void check(takeover_options const& options);

/// Returns the exit status: 1 when a promise was broken, else that of an unavailable store.
int bench_takeover(takeover_options const& options);

}  // namespace herdlock::cli
