// Durations on the command line, and how they are said.
#pragma once

#include <herdlock/url.hpp>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {

/// `500ms`, `30s`, `5m`, `1h`, `7d`. A number without a unit is refused: `--ttl 30` would be 30 ms
/// to the one and 30 s to the other.
inline milliseconds duration_argument(std::string_view option, std::string_view text) {
  bool const bare = text.find_first_not_of("0123456789") == std::string_view::npos;
  result<milliseconds> const parsed = parse_duration(text);
  if (!parsed || (bare && text != "0")) {
    refuse("{} '{}' is not a duration; write it as 500ms, 30s, 5m, 1h or 7d", option, text);
  }
  return *parsed;
}

/// For people: `480 ms`, `7.5 s`, `28 s`, `5 min`.
inline std::string say(milliseconds time) {
  auto const ms = time.count();
  if (ms < 1'000) return fmt::format("{} ms", ms);
  if (ms < 10'000 && ms % 1'000 != 0) {
    return fmt::format("{:.1f} s", static_cast<double>(ms) / 1'000);
  }
  if (ms < 180'000) return fmt::format("{} s", (ms + 500) / 1'000);
  return fmt::format("{} min", (ms + 30'000) / 60'000);
}

/// Throws command_error (usage) for what is no duration, or out of its range.
inline milliseconds duration_between(char const* option, std::string const& text,
                                     milliseconds least, milliseconds most) {
  milliseconds const time = duration_argument(option, text);
  if (time >= least && time <= most) return time;
  refuse("{} {}: must be between {} and {}", option, text, duration_text(least),
         duration_text(most));
}

}  // namespace herdlock::cli
