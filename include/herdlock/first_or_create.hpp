// Get or create, once: find, else take the lock, find again, create.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <herdlock/lock.hpp>

namespace herdlock {
inline namespace v0 {

/// Returns what `find()` (an optional) finds; else takes the lock, looks again (the one who had it
/// meanwhile may have created it), and returns what `create(fencing_token)` makes. Blocking; not on
/// the store's own thread.
///
/// Exactly one caller creates as long as leases outlive `create`; hand the fencing token to the
/// database where that matters more. When the lock is busy until `options.wait` is over, `find` is
/// asked once more; then herdlock::error with errc::timed_out is thrown. Throws errc::lost when the
/// lease was lost while `create` ran, whatever it made.
template <class Find, class Create>
auto first_or_create(lock const& where, Find&& find, Create&& create,
                     acquire_options const& options = {.wait = std::chrono::seconds(10)}) {
  using value = typename std::invoke_result_t<Find&>::value_type;
  if (std::optional<value> found = find()) return *std::move(found);
  auto made = where.with(options, [&](lease& held) -> value {
    if (std::optional<value> found = find()) return *std::move(found);
    return create(held.fencing());
  });
  if (made) return *std::move(made);
  if (std::optional<value> found = find()) return *std::move(found);
  throw error(make_failure(errc::timed_out, "'" + where.name().str() + "' in " +
                                                where.where().display_name() +
                                                " stayed busy for the whole wait"));
}

}  // namespace v0
}  // namespace herdlock
