// Everything at once.
#pragma once

#include <herdlock/cache.hpp>
#include <herdlock/election.hpp>
#include <herdlock/error.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/fencing.hpp>
#include <herdlock/first_or_create.hpp>
#include <herdlock/keyed_mutex.hpp>
#include <herdlock/lease.hpp>
#include <herdlock/lock.hpp>
#include <herdlock/metrics.hpp>
#include <herdlock/open.hpp>
#include <herdlock/printable.hpp>
#include <herdlock/single_flight.hpp>
#include <herdlock/store_opener.hpp>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include <herdlock/url_scheme.hpp>
#include <herdlock/while_held.hpp>
