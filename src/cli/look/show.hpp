// Who holds what.
#pragma once

#include <herdlock/open.hpp>
#include <vector>

#include "common/json_text.hpp"

namespace herdlock::cli {

/// Returns the exit status; throws command_error.
int show(store const& where, std::vector<resource> const& names, output_form form);

/// Names that are kept in mind at most, to put them in order.
inline constexpr std::size_t most_names = 100'000;
/// The first `limit` of all that are held, by name; a line on standard error when there are more.
int show_held(store const& where, std::size_t limit, output_form form);

/// `herdlock release --force`.
int take_away(store const& where, resource const& name, output_form form);

}  // namespace herdlock::cli
