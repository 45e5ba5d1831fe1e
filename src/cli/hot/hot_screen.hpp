// `herdlock hot --watch` on a terminal: a live screen.
#pragma once

#include "hot/hot_question.hpp"

namespace herdlock::cli {

/// Until q, Ctrl-D, the end of the terminal (all 0), or a signal. The terminal is as it was then,
/// and while it is stopped (Ctrl-Z). Returns the exit status; throws command_error.
int watch_on_screen(hot_question const& asked, milliseconds interval);

}  // namespace herdlock::cli
