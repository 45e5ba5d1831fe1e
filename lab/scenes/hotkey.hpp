// `herdlock demo hotkey`: one key is asked for by all, without and with hot keys.
#pragma once

#include "scenes/hotkey_options.hpp"

namespace herdlock::cli {

/// Returns the exit status; throws command_error for everything that gets one line.
int hotkey_demo(hotkey_options const& options);

}  // namespace herdlock::cli
