// A host name's look-up that can be waited for no longer.
#pragma once

#include <herdlock/types.hpp>
#include <string>
#include <vector>

namespace herdlock::mysql {

/// The addresses of the name, the best first; an address is its own. Throws sql_error when there is
/// none, and when the deadline has passed or `wake` (a descriptor) became readable before the
/// answer came. A look-up that hangs goes on in a thread of its own, which nothing waits for; at
/// most `max_look_ups` do.
inline constexpr int max_look_ups = 32;
std::vector<std::string> look_up(std::string const& host, clock::time_point deadline, int wake);

}  // namespace herdlock::mysql
