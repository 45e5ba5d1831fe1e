// `herdlock bench soak`: processes and threads that pass one lock around, for as long as it takes,
// and a judge that trusts none of them.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

namespace herdlock::cli {

struct soak_options {
  std::string store_url;  ///< empty: a temporary SQLite file
  int processes = 4;
  int threads = 4;
  int resources = 1;
  std::int64_t hand_overs = 10'000;
  bool json = false;
};

CLI::App* add_soak_command(CLI::App& bench, soak_options& arguments);

/// Throws command_error (usage) naming what is wrong.
void check(soak_options const& options);

/// Returns the exit status: 1 when a promise was broken.
int soak(soak_options options);

}  // namespace herdlock::cli
