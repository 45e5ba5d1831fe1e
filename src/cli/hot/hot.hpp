// `herdlock hot`: which keys of a store are used most, and what is said of keys in advance.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

#include "hot/rule_commands.hpp"
#include "look/commands.hpp"

namespace herdlock::cli {

/// As typed.
struct hot_arguments {
  store_arguments store;
  std::string source = "clients";
  std::size_t top = 20;
  std::string prefix;
  std::string lasts = "5s";
  std::string interval = "1s";
  std::uint64_t max_rate = 200'000;
  bool watch = false;
  bool sizes = false;
  bool yes = false;
  bool json = false;
  rule_arguments rule;  ///< of the commands below it
};

runnable add_hot_command(CLI::App& app, hot_arguments& arguments);

}  // namespace herdlock::cli
