// `herdlock hot --watch` where there is no screen: lines for a pipe or a file.
#pragma once

#include "hot/hot_question.hpp"
#include "look/show.hpp"

namespace herdlock::cli {

/// A line for each key of each look, or a list in one line. Returns the exit status; throws
/// command_error.
int watch_in_lines(hot_question const& asked, milliseconds interval, output_form form);

}  // namespace herdlock::cli
