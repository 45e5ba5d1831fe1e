// Options of one call of a cache.
#pragma once

#include <optional>
#include <type_traits>

#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// Whether what this process keeps (near_options) is an answer to a call.
enum class near_values {
  used,
  skipped,  ///< the store is asked, also while it fails; what it says may be kept
};

/// The options of one call; what is not named is as the cache's options say. Trivially copyable, so
/// that a braced list of them may stand in a co_await expression (GCC 12).
struct call_options {
  /// As cache_options::wait: from 1 ms; wait_forever for none.
  std::optional<milliseconds> wait = std::nullopt;
  /// As freshness_options::soft_timeout, and it needs the same: framed entries that can be stale,
  /// and a loader that the cache owns. 0: a stale value is the answer at once, if no load failed
  /// lately. Less than `wait`. get() and load_now() have no use for it.
  std::optional<milliseconds> soft_timeout = std::nullopt;
  near_values near = near_values::used;
};
static_assert(std::is_trivially_copyable_v<call_options>);

}  // namespace v0
}  // namespace herdlock
