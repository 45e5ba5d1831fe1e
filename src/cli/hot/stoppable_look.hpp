// One look on the calling thread, which Ctrl-Z does not leave half done.
#pragma once

#include "hot/hot_question.hpp"

namespace herdlock::cli {

/// Asks as survey_store() does. A Ctrl-Z abandons a look with MONITOR before it stops the process,
/// and the look begins anew when that goes on.
result<survey> stoppable_look(hot_question const& asked);

}  // namespace herdlock::cli
