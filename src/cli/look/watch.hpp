// Looking again and again.
#pragma once

#include <herdlock/open.hpp>
#include <optional>

#include "common/json_text.hpp"

namespace herdlock::cli {

struct watch_options {
  milliseconds interval{1'000};
  std::optional<milliseconds> timeout{};
  output_form form = output_form::text;
};

/// Returns the exit status; throws command_error.
int watch(store const& where, resource const& name, watch_options const& options);

/// `herdlock wait`.
int wait_until_free(store const& where, resource const& name, watch_options const& options);

}  // namespace herdlock::cli
