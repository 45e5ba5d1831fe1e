// Asks Redis Sentinels who the master is (redis.io, "Guidelines for Redis clients with support for
// Redis Sentinel").
#pragma once

#include <memory>

#include "stores/redis/client/address_resolver.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// So often, or up to twice as often, a handle asks whether its master still is one.
inline constexpr milliseconds sentinel_look_interval{10'000};

/// Takes the address that most sentinels of the settings name (master_vote.hpp). One that does not
/// answer goes to the back of the list, and so does one whose address was refused or is a replica:
/// whether the server is a master is for the connection's examination to see.
///
/// Moves are heard of by a subscription to +switch-master at one of them; then all are asked until
/// most of them know of it. A sentinel that hangs, is restarted or is cut off from the others tells
/// nothing, so they are also asked after each subscription that was acknowledged, and every
/// sentinel_look_interval.
///
/// Cost: n short connections for n sentinels, at each attempt to connect (all connections of a
/// handle share the question that is under way) and at each look.
std::shared_ptr<address_resolver> make_sentinel_resolver(asio::any_io_executor executor,
                                                         settings const& how);

}  // namespace herdlock::redis
