// How long a command has to stop when its lease runs out.
#pragma once

#include <herdlock/open.hpp>
#include <optional>
#include <string>

namespace herdlock::cli {

/// --grace as it is given; nothing when it is not. Throws command_error (usage) for one that the
/// ttl is too short for.
std::optional<milliseconds> grace_argument(std::string const& text, milliseconds ttl);

struct stopping_times {
  milliseconds grace;   ///< from SIGTERM to SIGKILL
  milliseconds notice;  ///< how long before the end of the lease: its loss_margin
};

/// For leases of this store, which may prove them for less than the ttl. The grace that is not
/// given is a quarter of what is proved, at most 10 s. Throws command_error (usage) for one that is
/// too long for it.
stopping_times stopping_times_in(store const& where, std::optional<milliseconds> grace,
                                 milliseconds ttl);

}  // namespace herdlock::cli
