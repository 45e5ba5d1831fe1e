// The ports' operations while they are under way.
#pragma once

#include <herdlock/backend.hpp>
#include <memory>

#include "stores/common/waiter.hpp"
#include "stores/etcd/connection_pool.hpp"

namespace herdlock::etcd {

using stores::waiter;
using renew_operation = stores::operation<renew_reply>;
using release_operation = stores::operation<release_reply>;
using inspect_operation = stores::operation<std::optional<lease_info>>;
using list_operation = stores::operation<lease_page>;

/// For who does not get it: who is first, and for how long.
asio::awaitable<void> answer_busy(std::shared_ptr<connection_pool> connections,
                                  std::shared_ptr<waiter> op, key_entry first);

/// `created` is the revision of the key, which is the fencing token.
void grant_it(waiter& op, std::int64_t created, clock::time_point sent, milliseconds left);

}  // namespace herdlock::etcd
