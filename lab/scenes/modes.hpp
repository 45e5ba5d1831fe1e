// The ways to guard a hot entry that the demo plays, and what it says of each.
#pragma once

#include <herdlock/types.hpp>
#include <optional>
#include <span>
#include <string_view>

namespace herdlock::cli {

enum class guard_mode { naive, process, fleet, early, logical, double_lock, hash, near };

struct mode_facts {
  guard_mode mode;
  char const* name;
  char const* does;  ///< one line
  /// While the new product is loaded the one before it is a right answer, too.
  bool serves_old = false;
  /// A process keeps the product, and the requests come once more when it does.
  bool keeps_near = false;
};

/// In the order in which they are told.
std::span<mode_facts const> all_modes();
mode_facts const& facts_of(guard_mode mode);
char const* name_of(guard_mode mode);
std::optional<guard_mode> parse_mode(std::string_view text);

/// How long before the entry would expire the requests come; 0 where they come behind its expiry.
milliseconds head_start(guard_mode mode, milliseconds load_time);

}  // namespace herdlock::cli
