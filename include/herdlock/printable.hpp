// Texts that others have written, for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace herdlock {
inline namespace v0 {

/// The text with control characters (C0, DEL, C1, and those that turn the direction of writing) and
/// what is not UTF-8 as \xNN, so that showing it does nothing to a terminal. Doing it twice is
/// doing it once.
std::string printable(std::string_view text);

/// The same with each backslash doubled: no two texts look alike, and `printf %b` of Bash gives
/// the bytes back.
std::string escaped(std::string_view text);

}  // namespace v0
}  // namespace herdlock
