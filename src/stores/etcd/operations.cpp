#include "stores/etcd/operations.hpp"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>

#include "stores/etcd/queue_entry.hpp"

namespace herdlock::etcd {
namespace {

// Longer than anybody waits; a time point further on would not fit into the clock.
constexpr milliseconds longest_wait = 2 * limits::max_ttl;

clock::time_point end_of_wait(milliseconds wait) {
  return clock::now() + std::clamp(wait, milliseconds{0}, longest_wait);
}

}  // namespace

waiter::waiter(std::shared_ptr<stores::pending_operations> const& pending,
               stores::order<acquire_reply> what, milliseconds for_ttl, milliseconds wait,
               milliseconds timeout)
    : operation(pending, std::move(what), end_of_wait(wait) + timeout),
      ttl(for_ttl),
      until(deadline() - timeout),
      waits(wait > milliseconds{0}) {}

void waiter::on_completed() {
  if (auto const where = where_.lock()) where->on_waiter_gone();
}

void waiter::grant_it(std::int64_t created, clock::time_point sent, milliseconds left) {
  grant_term const term{sent, std::clamp(left, milliseconds{0}, ttl)};
  complete(acquire_reply(grant{fencing_token{static_cast<std::uint64_t>(created)}, term}));
}

asio::awaitable<void> answer_busy(std::shared_ptr<connection_pool> connections,
                                  std::shared_ptr<waiter> op, key_entry first) {
  auto const deadline = connections->step_deadline();
  busy reply{from_value(first.value).label, milliseconds{0}};
  reply.remaining = co_await time_left(connections, first, deadline);
  op->complete(acquire_reply(std::move(reply)));
}

}  // namespace herdlock::etcd
