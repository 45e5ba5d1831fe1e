// Which name was meant by a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace herdlock {
inline namespace v0 {

/// The nearest of the known names: at most two characters wrong, and no more than half of
/// them. Empty when none is so near, or the name is longer than 40 characters.
std::string near_name(std::string_view name, std::vector<std::string> const& known);

}  // namespace v0
}  // namespace herdlock
