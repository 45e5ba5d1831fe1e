// The ports' operations while they are under way.
#pragma once

#include <herdlock/backend.hpp>
#include <memory>

#include "stores/common/pending_operations.hpp"
#include "stores/etcd/connection_pool.hpp"

namespace herdlock::etcd {

class queue_entry;

/// An acquire that is under way, and until when it may wait.
class waiter final : public stores::operation<acquire_reply> {
 public:
  waiter(std::shared_ptr<stores::pending_operations> const& pending,
         stores::order<acquire_reply> what, milliseconds ttl, milliseconds wait,
         milliseconds timeout);

  void joined(std::weak_ptr<queue_entry> where) { where_ = std::move(where); }
  /// `created` is the revision of the key, which is the fencing token.
  void grant_it(std::int64_t created, clock::time_point sent, milliseconds left);

  milliseconds const ttl;
  clock::time_point const until;
  bool const waits;

 private:
  void on_completed() override;

  std::weak_ptr<queue_entry> where_;
};

using renew_operation = stores::operation<renew_reply>;
using release_operation = stores::operation<release_reply>;
using inspect_operation = stores::operation<std::optional<lease_info>>;
using list_operation = stores::operation<lease_page>;

/// For who does not get it: who is first, and for how long.
asio::awaitable<void> answer_busy(std::shared_ptr<connection_pool> connections,
                                  std::shared_ptr<waiter> op, key_entry first);

/// For a port: the failure with the store and the subject in front.
template <class T>
void complete_with(stores::operation<T>& op, failure const& why) {
  failure told = why;
  told.message = op.failure_of(errc::unavailable, why.message).message;
  op.complete(std::move(told));
}

}  // namespace herdlock::etcd
