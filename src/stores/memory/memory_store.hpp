// The store inside one process.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/survey.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// `memory:` is a store that only this handle (and its copies) sees; `memory:NAME` is shared by all
/// handles on that name in this process, and is gone with the last of them.
/// Options: `max_entries`, `max_waiters`, `max_bytes` (see usage.hpp).
///
/// Waits are queued first come, first served, and end with the event itself. Expiry is judged by
/// herdlock::clock. Operations never fail for want of a server; at a bound they fail with
/// errc::overloaded and change nothing. The handle may be let go of on any thread on which no
/// operation is being started; what still waits completes with errc::canceled.
result<backend> open_memory(store_url url, asio::any_io_executor executor);

/// What is wrong with this process for locks: see examine_store().
result<examination> examine_memory(store_url);

/// Which keys its caches report: see survey_store().
result<survey> survey_memory(store_url url, survey_request const& request);

}  // namespace herdlock
