// Whether a command's store was named by anybody.
#pragma once

#include "terminal/store_argument.hpp"

namespace herdlock::cli {

enum class store_choice { named, by_default };
store_choice store_choice_of(store_arguments const& arguments);

/// What a user who names no store should know: whom the default store excludes, and where it is.
/// Two processes of one user can have two: a login shell may set XDG_STATE_HOME, and cron does not.
std::string about_default_store();

}  // namespace herdlock::cli
