// Names for the library's threads, as `ps -L` and debuggers show them.
#pragma once

namespace herdlock {
inline namespace v0 {
namespace detail {

/// Of the calling thread; at most 15 bytes are shown.
void name_this_thread(char const* name) noexcept;

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
