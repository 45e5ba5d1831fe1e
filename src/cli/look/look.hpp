// What the commands do that look at leases.
#pragma once

#include <herdlock/open.hpp>

#include "common/json_text.hpp"

namespace herdlock::cli {

// All return the exit status, and throw command_error.

/// `herdlock show NAME…`.
int show(store const& where, std::vector<resource> const& names, output_form form);

/// Names that are kept in mind at most, to put them in order.
inline constexpr std::size_t most_names = 100'000;
/// The first `limit` of all that are held, by name; a line on standard error when there are more.
int show_held(store const& where, std::size_t limit, output_form form);

/// `herdlock release --force`.
int take_away(store const& where, resource const& name, output_form form);

struct watch_options {
  milliseconds interval{1'000};
  std::optional<milliseconds> timeout{};
  output_form form = output_form::text;
};

/// `herdlock watch`.
int watch(store const& where, resource const& name, watch_options const& options);

/// `herdlock wait`.
int wait_until_free(store const& where, resource const& name, watch_options const& options);

}  // namespace herdlock::cli
