// Whether a command's store was named by anybody.
#pragma once

#include "common/store_argument.hpp"

namespace herdlock::cli {

enum class store_choice { named, by_default };
store_choice store_choice_of(store_arguments const& arguments);

/// What who names none should know.
inline constexpr char const* about_default_store =
    "no store is named (--store): only this user's processes on this machine are excluded";

}  // namespace herdlock::cli
