// The entry of one owner in the queue for one resource: a lease of etcd and a key that lives with
// it, first waiting, then holding.
#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "stores/etcd/fifo_gate.hpp"
#include "stores/etcd/predecessor_watch.hpp"
#include "stores/etcd/unconfirmed_releases.hpp"

namespace herdlock::etcd {

/// What all entries of a store share, and those of one resource.
struct store_state {
  std::shared_ptr<connection_pool> connections;
  std::shared_ptr<watch_stream> watches;
  std::shared_ptr<lease_pool> leases;
  std::shared_ptr<unconfirmed_releases> unconfirmed;
  std::shared_ptr<fifo_gate> gate{};
};

/// Does one thing after the other, so that a release comes after the acquire that it cleans up, and
/// an acquire after the end of the lease before it. All members are called on the executor.
///
/// etcd counts leases in seconds and has a shortest one, so the key may live longer than the ttl.
/// The entry that holds ends it at the ttl; only a holder that crashed keeps it for as long as etcd
/// granted.
class queue_entry final : public stores::waiter_queue,
                          public std::enable_shared_from_this<queue_entry> {
 public:
  /// `tell_empty` is called when there is nothing left to remember.
  queue_entry(store_state store, resource name, owner_token owner,
              std::function<void()> tell_empty);

  void acquire(std::shared_ptr<waiter> op);
  void renew(std::shared_ptr<renew_operation> op, milliseconds ttl) {
    add([this, op = std::move(op), ttl] { return prolong(op, ttl); });
  }
  struct heir {
    owner_token to;
    milliseconds ttl;
  };
  /// With an heir: leaves it to that one.
  void release(std::shared_ptr<release_operation> op, std::optional<heir> left = {}) {
    add([this, op = std::move(op), left = std::move(left)] {
      return left ? hand_to(op, *left) : give_back(op);
    });
  }

  /// Nobody waits for it any more, perhaps.
  void on_left(waiter& who) override;
  /// Leaves the queue; a held key lives on until etcd's lease ends.
  void close();

  /// The time left if it is this entry that holds the resource, by our own count.
  std::optional<milliseconds> remaining(std::string const& key) const;

 private:
  enum class state { none, queued, held };
  using task = std::function<asio::awaitable<void>()>;

  void add(task what);
  asio::awaitable<void> run();
  void arm();
  void tell_empty();
  void remember_release();

  // Steps.
  asio::awaitable<void> join(std::shared_ptr<waiter> op, std::shared_ptr<fifo_gate::ticket> turn);
  asio::awaitable<void> look();
  asio::awaitable<void> tick();
  asio::awaitable<void> prolong(std::shared_ptr<renew_operation> op, milliseconds ttl);
  asio::awaitable<void> give_back(std::shared_ptr<release_operation> op);
  asio::awaitable<void> hand_to(std::shared_ptr<release_operation> op, heir left_to);
  asio::awaitable<void> expire();
  asio::awaitable<void> leave();

  // Parts of steps.
  asio::awaitable<bool> try_to_join(std::shared_ptr<waiter> op, std::uint64_t turn);
  asio::awaitable<bool> enter(std::shared_ptr<waiter> op, found_entries found,
                              clock::time_point sent);
  asio::awaitable<void> answer_holder(std::shared_ptr<waiter> op);
  asio::awaitable<void> answer_the_late();
  void hold(milliseconds ttl);
  void wait_for_the_name(std::shared_ptr<waiter> op);
  void take_turn(milliseconds ttl, clock::time_point sent);
  void forget() {
    before_.stop(predecessor_watch::ends::left);
    state_ = state::none;
    key_.forget();
  }
  /// Our lease ended while we waited (the process was stopped, the cluster was gone for too long):
  /// the rank in the queue is lost, the wait is not.
  void join_again() {
    forget();
    join_waiters();
  }
  void join_waiters();

  store_state store_;
  owned_key key_;
  predecessor_watch before_;
  unconfirmed_release unconfirmed_;
  std::function<void()> tell_empty_;
  timer timer_;

  std::deque<task> steps_;  ///< bounded: by max_pending, and one of each kind of our own
  bool running_ = false;
  bool closed_ = false;

  state state_ = state::none;
  std::vector<std::shared_ptr<waiter>> waiters_;
  milliseconds ttl_{0};
  clock::time_point expires_at_;  ///< held: when we end it
};

}  // namespace herdlock::etcd
