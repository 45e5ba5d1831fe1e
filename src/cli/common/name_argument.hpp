// The name of a resource as somebody typed it.
#pragma once

#include <algorithm>
#include <herdlock/types.hpp>
#include <string>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {

/// Throws command_error (usage) also for what a resource may be, but nobody means to type: a name
/// with control characters, which would hide in a terminal and break lines.
inline resource name_argument(std::string const& text) {
  result<resource> name = resource::parse(text);
  if (!name) raise(name.error());
  auto const hidden = [](unsigned char c) { return c < ' ' || c == 127; };
  if (std::any_of(text.begin(), text.end(), hidden)) {
    throw command_error(exit_code::usage,
                        "the name " + in_quotes(text) + " has control characters in it");
  }
  return std::move(*name);
}

}  // namespace herdlock::cli
