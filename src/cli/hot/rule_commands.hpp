// `herdlock hot add`, `remove`, `list`: what people say of keys in advance.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "look/commands.hpp"

namespace herdlock::cli {

/// As typed; one of the commands is given, so they share.
struct rule_arguments {
  std::string key;
  std::string cache;
  std::string from;
  std::string until;
  std::string lasts;  ///< --for
  std::string at_most;
  bool pin = false;
  bool deny = false;
  bool keep = false;
  bool begins = false;
  bool json = false;
};

/// Adds them below `hot`, whose --store is also theirs: it fills `where`.
std::vector<runnable> add_rule_commands(CLI::App& hot, store_arguments& where,
                                        rule_arguments& arguments);

}  // namespace herdlock::cli
