// The store of one machine: a file that all its processes open.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/survey.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// `sqlite:PATH` (relative or absolute) or `sqlite:///PATH`. Opens or creates the file at once
/// (mode 0600), waiting up to `timeout` for other processes; a file that cannot be used fails here
/// with errc::unavailable or errc::access_denied.
/// Options: `timeout` (of each command, default 5s), `max_pending` (commands under way, default
/// 65536; one more fails with errc::overloaded), `max_bytes` (of the file, default 4 GiB).
///
/// Excludes all threads and processes of one machine that use the same file on a local disk. Time
/// is CLOCK_BOOTTIME, one for all of them; a reboot ends every lease and empties the cache. Fencing
/// tokens go on increasing through reboot, crash and a deleted file. Safe over fork + exec; an open
/// handle must not be used in a forked child. Letting go of the handle ends what is still under way
/// with errc::canceled, and waits for the command that is running.
result<backend> open_sqlite(store_url url, asio::any_io_executor executor);

/// What is wrong with a file for locks: see examine_store().
result<examination> examine_sqlite(store_url url);

/// Which keys the caches on a file report: see survey_store().
result<survey> survey_sqlite(store_url url, survey_request const& request);

}  // namespace herdlock
