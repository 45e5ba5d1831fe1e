// Where the command keeps what must outlive it.
#pragma once

#include <string>

namespace herdlock::cli {

/// The URL of the default store: `herdlock.db` in $XDG_STATE_HOME/herdlock, else in
/// ~/.local/state/herdlock. Makes the folder, readable by its owner only. Throws command_error
/// (unavailable) when it cannot be made.
std::string default_store_url();

}  // namespace herdlock::cli
