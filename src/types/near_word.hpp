// What somebody who mistyped a word may have meant.
#pragma once

#include <optional>
#include <string_view>

namespace herdlock {

/// The option of a store URL that differs from the word by one or two letters (missing, strange or
/// changed; two that changed places count as one). Nothing when there is none, or the word is one.
std::optional<std::string_view> near_option(std::string_view word);

}  // namespace herdlock
