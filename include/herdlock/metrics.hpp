// The work of a store so far, as numbers, as a text for Prometheus, and as events for a log. To
// serve the text: herdlock/metrics_endpoint.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/cache_options.hpp>
#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// How often something took how long.
struct duration_histogram {
  /// Upper bounds in seconds; what took longer is counted last.
  static constexpr std::array<double, 16> bounds{.0005, .001, .0025, .005, .01, .025, .05, .1,
                                                 .25,   .5,   1,     2.5,  5,   30,   300, 3600};
  std::array<std::uint64_t, bounds.size() + 1> counts{};  ///< not cumulative
  double sum_seconds = 0;

  std::uint64_t count() const noexcept;
};

/// The figures of all locks, elections and caches that use one opened store in this process. A
/// cache with a store for its values and another for its locks is counted with its values.
struct store_metrics {
  std::string store;                        ///< its URL without the password
  std::uint64_t acquired = 0;               ///< grants, restored leases too
  std::uint64_t acquired_from_another = 0;  ///< those for which another's end was waited for
  std::uint64_t busy = 0;                   ///< another held it until the wait was over
  std::uint64_t failed = 0;                 ///< acquisitions that the store could not answer
  std::uint64_t canceled = 0;               ///< acquisitions that the caller took back
  std::uint64_t renewed = 0;
  std::uint64_t renew_failed = 0;  ///< renewals without an answer; most are tried again
  std::uint64_t lost = 0;          ///< leases that could not be proved any more
  std::uint64_t released = 0;      ///< leases that were given back, or detached, in time
  std::uint64_t held = 0;          ///< leases, now
  std::uint64_t waiting = 0;       ///< acquisitions that ask or wait, now: this process's queue
  duration_histogram wait_time;    ///< from the call to the grant
  duration_histogram hold_time;    ///< from the grant to its end
  cache_stats caches;              ///< the sum over all, those that have gone included
  duration_histogram load_time;    ///< of their loaders, from the start to the result or error
};

/// In Prometheus' text format, version 0.0.4, a label `store` telling them apart: the URL, and
/// behind that of the second store of one URL ` #2`, in the order of `all`. Names begin with
/// `herdlock_`; each with HELP and TYPE.
std::string prometheus_text(std::vector<store_metrics> const& all);

// GCC 12 takes the scoped name `acquired` for one that hides lock.hpp's.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
enum class lease_event_kind { acquired, busy, failed, canceled, renew_failed, lost, released };
#pragma GCC diagnostic pop
std::string_view to_string(lease_event_kind kind) noexcept;

/// An event of a lease or of the wish for one. The references live as long as the call.
struct lease_event {
  lease_event_kind kind;
  resource const& name;
  std::string const& store;  ///< its URL without the password
  fencing_token fencing{};   ///< 0 when there is no lease
  milliseconds took{0};      ///< the wait; with lost and released: since the grant
  failure why{};             ///< with failed, canceled, renew_failed, lost
};

}  // namespace v0
}  // namespace herdlock
