// Everything that users of locks, elections and caches need, at once. Not in it: what a backend
// needs (herdlock/backend.hpp, herdlock/report_store.hpp, herdlock/rules_store.hpp,
// herdlock/store_warnings.hpp, herdlock/tracking_store.hpp, herdlock/url.hpp,
// herdlock/url_scheme.hpp), and headers that need more than herdlock::core
// (metrics_endpoint.hpp, codec_described.hpp, formatters.hpp, logging_spdlog.hpp).
#pragma once

#include <herdlock/cache.hpp>
#include <herdlock/cache_presets.hpp>
#include <herdlock/codec.hpp>
#include <herdlock/election.hpp>
#include <herdlock/error.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/fencing.hpp>
#include <herdlock/first_or_create.hpp>
#include <herdlock/hot_fleet.hpp>
#include <herdlock/hot_keys.hpp>
#include <herdlock/hot_rules.hpp>
#include <herdlock/inspect.hpp>
#include <herdlock/keyed_mutex.hpp>
#include <herdlock/lease.hpp>
#include <herdlock/lock.hpp>
#include <herdlock/metrics.hpp>
#include <herdlock/open.hpp>
#include <herdlock/printable.hpp>
#include <herdlock/single_flight.hpp>
#include <herdlock/store_opener.hpp>
#include <herdlock/survey.hpp>
#include <herdlock/types.hpp>
#include <herdlock/value.hpp>
#include <herdlock/version.hpp>
#include <herdlock/while_held.hpp>
