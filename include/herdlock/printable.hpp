// Texts that others have written, for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace herdlock {
inline namespace v0 {

/// The text with control characters (C0, DEL and C1) and what is not UTF-8 as \xNN, so that showing
/// it does nothing to a terminal.
std::string printable(std::string_view text);

}  // namespace v0
}  // namespace herdlock
