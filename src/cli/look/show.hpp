// Who holds what.
#pragma once

#include <herdlock/open.hpp>
#include <vector>

namespace herdlock::cli {

enum class output_form { text, json };

/// Returns the exit status; throws command_error.
int show(store const& where, std::vector<resource> const& names, output_form form);

/// `herdlock release --force`.
int take_away(store const& where, resource const& name, output_form form);

}  // namespace herdlock::cli
