// Checks that commands which start processes share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <herdlock/url.hpp>
#include <string>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {

/// Throws command_error (usage) unless the value is from 1 to `most`.
inline void require_between(char const* option, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw command_error(exit_code::usage,
                      fmt::format("{} {}: must be between 1 and {}", option, value, most));
}

/// Throws command_error (usage) for a URL that is none, or a store that several processes cannot
/// share. The rest of the URL is for the store to judge. An empty one stands for a default.
inline void require_shareable(std::string const& text, int processes) {
  if (text.empty()) return;
  store_url const url = value_or_raise(store_url::parse(text));
  if (url.scheme == "memory" && processes > 1) {
    throw command_error(exit_code::usage,
                        "memory: lives in one process; use --processes 1, or a store that "
                        "processes share (sqlite:PATH, redis://…)");
  }
}

}  // namespace herdlock::cli
