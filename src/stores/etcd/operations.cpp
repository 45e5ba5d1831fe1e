#include "stores/etcd/operations.hpp"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>

#include "stores/etcd/owned_key.hpp"

namespace herdlock::etcd {

void grant_it(waiter& op, std::int64_t created, clock::time_point sent, milliseconds left) {
  grant_term const term{sent, std::clamp(left, milliseconds{0}, op.request.ttl)};
  op.complete(acquire_reply(grant{fencing_token{static_cast<std::uint64_t>(created)}, term}));
}

asio::awaitable<void> answer_busy(std::shared_ptr<connection_pool> connections,
                                  std::shared_ptr<waiter> op, key_entry first) {
  auto const deadline = connections->step_deadline();
  busy reply{from_value(first.value).label, milliseconds{0}};
  reply.remaining = co_await time_left(connections, first, deadline);
  op->complete(acquire_reply(std::move(reply)));
}

}  // namespace herdlock::etcd
