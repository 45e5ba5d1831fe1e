// Where the command keeps what must outlive it.
#pragma once

#include <filesystem>
#include <string>

namespace herdlock::cli {

/// The file of the default store: `herdlock.db` in $XDG_STATE_HOME/herdlock, else in
/// ~/.local/state/herdlock. Throws command_error (unavailable) when there is no home folder.
std::filesystem::path default_store_file();

/// The URL of the default store. Makes its folder, readable by its owner only. Throws command_error
/// (unavailable) when it cannot be made.
std::string default_store_url();

}  // namespace herdlock::cli
