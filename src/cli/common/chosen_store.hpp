// The store that the command works with: the one that is named, else one of this user's own.
#pragma once

#include "terminal/store_argument.hpp"

namespace herdlock::cli {

struct chosen_store {
  std::string url;
  bool by_default = false;  ///< nobody has named one
};

/// Adds --store and --store-file; the help tells of the default one.
void add_store_options(CLI::App& app, store_arguments& arguments);

/// The one that is named, else the default store: `herdlock.db` in $XDG_STATE_HOME/herdlock, else
/// in ~/.local/state/herdlock. Makes its folder, readable by its owner only. Throws command_error
/// (unavailable) when it cannot be made, and as named_store does.
chosen_store store_of(store_arguments const& arguments);
/// The same for a store of which another process is to see something: throws command_error (usage)
/// for `memory:`, too.
chosen_store shared_store_of(store_arguments const& arguments);

/// What a user who names no store should know: whom the default store excludes, and where it is.
/// Two processes of one user can have two: a login shell may set XDG_STATE_HOME, and cron does not.
std::string about_default_store();

}  // namespace herdlock::cli
