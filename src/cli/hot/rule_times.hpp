// Times of rules for hot keys: as people type them, and as they are told.
#pragma once

#include <herdlock/hot_rules.hpp>

namespace herdlock::cli {

/// ISO 8601: `2026-12-01`, `2026-12-01T12:00`, `2026-12-01T12:00:30.5`, of this machine's zone, or
/// with `Z`, `+01:00` or `+0100` behind the time. Throws command_error (usage), also for a time
/// that does not exist in the zone, or exists twice, when its clocks are set.
hot_rule::time time_argument(std::string_view option, std::string const& text);

/// `2026-12-01T12:00:00+01:00`: of this machine's zone, to be typed in again. With milliseconds
/// when there are any.
std::string local_text(hot_rule::time when);

/// `2026-12-01T11:00:00Z`: for programs.
std::string utc_text(hot_rule::time when);

}  // namespace herdlock::cli
