// `herdlock demo stampede`: what was asked for, checked; and what a worker is told.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "scenes/modes.hpp"
#include "scenes/origin.hpp"

namespace herdlock::cli {

/// Bounds of the demo.
namespace stampede_limits {
inline constexpr int max_processes = 256;
inline constexpr int max_requests = 100'000;  ///< in each process
inline constexpr int max_expiries = 10'000;
/// Connections that the processes open to the origin together, at most.
inline constexpr int max_connections = 256;
/// Connections of one process, at most.
inline constexpr int max_connections_each = 64;
}  // namespace stampede_limits

/// As typed.
struct stampede_arguments {
  std::string store;
  std::string locks;
  std::string origin;
  std::string modes = "naive,process,fleet";
  int processes = 4;
  int requests = 50;
  int expiries = 3;
  std::string load_time = "50ms";
  std::string claim_ttl = "2s";
  bool json = false;
  bool kill_loader = false;
  std::string plot;
};

/// As meant.
struct stampede_options {
  std::string store_url;  ///< empty: a temporary file
  std::string locks_url;  ///< the same
  origin_terms origin;    ///< url empty: a temporary file
  std::vector<guard_mode> modes;
  bool all_modes = false;  ///< without those that the store cannot do
  int processes = 0;
  int requests = 0;
  int expiries = 0;
  milliseconds claim_ttl{2'000};
  bool json = false;
  bool kill_loader = false;
  std::filesystem::path plot;  ///< empty: none
};

/// What one worker process is told at its start, over its socket: a URL in its argument list
/// would show the password to everybody on the machine.
struct worker_orders {
  std::string store_url;
  std::string locks_url;
  origin_terms origin;
  guard_mode mode = guard_mode::fleet;
  std::string run;
  std::string key;
  int processes = 1;
  int requests = 0;
  int connections = 1;
  milliseconds claim_ttl{2'000};

  std::string to_json() const;
  static worker_orders from_json(std::string const& text);
};

bool plays(std::vector<guard_mode> const& modes, guard_mode mode);

CLI::App* add_stampede_command(CLI::App& demo, stampede_arguments& arguments);

/// Throws command_error (usage) naming the argument that is wrong.
stampede_options check(stampede_arguments const& arguments);

}  // namespace herdlock::cli
