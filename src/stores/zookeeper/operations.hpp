// The ports' operations while they are under way.
#pragma once

#include <herdlock/backend.hpp>

#include "stores/common/waiter.hpp"

namespace herdlock::zookeeper {

using stores::waiter;
/// Which is nothing but its deadline and its handler.
using renew_operation = stores::operation<renew_reply>;
using release_operation = stores::operation<release_reply>;
using inspect_operation = stores::operation<std::optional<lease_info>>;
using list_operation = stores::operation<lease_page>;

}  // namespace herdlock::zookeeper
