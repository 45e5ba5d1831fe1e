// A host name's look-up that can be waited for no longer.
#pragma once

#include <herdlock/types.hpp>
#include <string>

namespace herdlock::mysql {

/// Returns when the name has addresses, as the client library will find them in its own, blocking
/// look-up; throws sql_error when it has none, and when the deadline has passed or `wake` (a
/// descriptor) became readable before the answer came. A look-up that hangs goes on in a thread of
/// its own, which nothing waits for; at most `max_look_ups` do.
inline constexpr int max_look_ups = 32;
void look_up(std::string const& host, clock::time_point deadline, int wake);

}  // namespace herdlock::mysql
