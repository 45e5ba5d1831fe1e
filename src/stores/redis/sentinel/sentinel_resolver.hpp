// Asks Redis Sentinels who the master is (redis.io, "Guidelines for Redis clients with support for
// Redis Sentinel").
#pragma once

#include <memory>

#include "stores/redis/client/address_resolver.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// The longest that one sentinel may take before the next is asked; less with many of them.
inline constexpr milliseconds max_sentinel_time{500};
inline constexpr milliseconds min_sentinel_time{50};

/// Of one sentinel: the same TLS as the data servers, but an account of its own.
settings sentinel_settings(settings const& how, stores::server_address const& at,
                           milliseconds limit);

/// Asks the sentinels of the settings in turn. One that does not answer goes to the back of the
/// list, so the first to be asked is the one that answered last. Whether the server that they name
/// is a master is for the connection's examination to see. Moves are heard of by a subscription to
/// +switch-master at one of them.
std::shared_ptr<address_resolver> make_sentinel_resolver(asio::any_io_executor executor,
                                                         settings const& how);

}  // namespace herdlock::redis
