// The entry of one owner in the queue for one resource: a lease of etcd and a key that lives with
// it, first waiting, then holding.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <herdlock/store.hpp>
#include "stores/common/pending_operations.hpp"
#include "stores/etcd/connection_pool.hpp"
#include "stores/etcd/fifo_gate.hpp"
#include "stores/etcd/lease_pool.hpp"
#include "stores/etcd/unconfirmed_releases.hpp"
#include "stores/etcd/watch_stream.hpp"

namespace herdlock::etcd {

/// What all entries of a store share, and those of one resource.
struct store_state {
  std::shared_ptr<connection_pool> connections;
  std::shared_ptr<watch_stream> watches;
  std::shared_ptr<lease_pool> leases;
  std::shared_ptr<unconfirmed_releases> unconfirmed;
  std::shared_ptr<fifo_gate> gate{};
};

class queue_entry;

/// An acquire that is under way, and until when it may wait.
class waiter final : public stores::operation<acquire_reply> {
 public:
  waiter(std::shared_ptr<stores::pending_operations> const& pending,
         stores::order<acquire_reply> what, milliseconds ttl, milliseconds wait,
         milliseconds timeout);

  void joined(std::weak_ptr<queue_entry> where) { where_ = std::move(where); }

  milliseconds const ttl;
  clock::time_point const until;
  bool const waits;

 private:
  void on_completed() override;

  std::weak_ptr<queue_entry> where_;
};

using renew_operation = stores::operation<renew_reply>;
using release_operation = stores::operation<release_reply>;

/// Does one thing after the other, so that a release comes after the acquire that it cleans up, and
/// an acquire after the end of the lease before it. All members are called on the executor.
///
/// etcd counts leases in seconds and has a shortest one, so the key may live longer than the ttl.
/// The entry that holds ends it at the ttl; only a holder that crashed keeps it for as long as etcd
/// granted.
class queue_entry : public std::enable_shared_from_this<queue_entry> {
 public:
  queue_entry(store_state store, resource name, owner_token owner);

  void acquire(std::shared_ptr<waiter> op);
  void renew(std::shared_ptr<renew_operation> op, milliseconds ttl);
  void release(std::shared_ptr<release_operation> op);

  /// Nobody waits for it any more, perhaps.
  void on_waiter_gone();
  /// Leaves the queue; a held key lives on until etcd's lease ends.
  void close();
  /// Called when there is nothing left to remember.
  void when_empty(std::function<void()> tell) { tell_empty_ = std::move(tell); }

  /// The time left if it is this entry that holds the resource, by our own count.
  std::optional<milliseconds> remaining(std::string const& key) const;

 private:
  enum class state { none, queued, held };
  using step = std::function<asio::awaitable<void>()>;
  struct found_entries {
    key_entry own;
    key_entry before;          ///< ours, when nobody is
    std::string two_before{};  ///< the key before that one; empty: none that we know of
    std::int64_t seen_at = 0;  ///< the revision of all that, on our lease; 0: of no use
  };

  /// What became of our key when it was to be removed.
  struct removal {
    failure why;  ///< there was no answer, or a refusal
    int attempts = 0;
    bool removed = false;
    bool not_there = false;  ///< as it was told; not all requests ask
    bool was_first = false;
    bool with_our_lease = false;
  };

  void add(step what);
  asio::awaitable<void> run();
  void after_step();
  void arm();
  void tell_empty();
  bool release_unconfirmed() const {
    return unconfirmed_until_ && clock::now() < *unconfirmed_until_;
  }
  void remember_release(clock::time_point end);
  void confirm_release();
  void on_release_dropped();
  void on_timer();
  void on_news(watch_message const& news);
  void look_after(std::int64_t revision);
  clock::time_point step_deadline() const;
  bool wanted() const;

  // Steps.
  asio::awaitable<void> join(std::shared_ptr<waiter> op, std::shared_ptr<fifo_gate::ticket> turn);
  asio::awaitable<void> look();
  asio::awaitable<void> tick();
  asio::awaitable<void> prolong(std::shared_ptr<renew_operation> op, milliseconds ttl);
  asio::awaitable<void> give_back(std::shared_ptr<release_operation> op);
  asio::awaitable<void> expire();
  asio::awaitable<void> leave();

  // Parts of steps.
  asio::awaitable<std::optional<milliseconds>> adopt(key_entry& own, milliseconds ttl,
                                                     failure& why);
  void give_lease_away();
  void drop();
  /// How lately a lease that is used again must have been proved to be alive: now, or as lately as
  /// a waiter's always is.
  enum class proof { of_now, of_lately };
  asio::awaitable<failure> take_lease(milliseconds ttl, clock::time_point deadline, proof wanted);
  asio::awaitable<bool> try_to_join(std::shared_ptr<waiter> op, std::uint64_t turn);
  asio::awaitable<void> answer_holder(std::shared_ptr<waiter> op);
  asio::awaitable<void> wait_with_the_others(std::shared_ptr<waiter> op);
  std::optional<found_entries> found_entries_in(txn_reply const& found, waiter const& op) const;
  asio::awaitable<bool> enter(std::shared_ptr<waiter> op, found_entries found,
                              clock::time_point sent);
  asio::awaitable<removal> remove_by(std::string const& request);
  asio::awaitable<void> answer_busy(std::shared_ptr<waiter> op, key_entry first);
  asio::awaitable<void> answer_the_late();
  asio::awaitable<std::optional<range_reply>> see(std::int64_t told_at);
  asio::awaitable<bool> keep_alive(std::int64_t lease);
  asio::awaitable<void> revoke(std::int64_t lease);
  asio::awaitable<failure> freshen(std::int64_t lease, milliseconds ttl,
                                   clock::time_point deadline);
  asio::awaitable<renew_reply> move_to_new_lease(key_entry own, milliseconds ttl, failure& why);
  void queue_behind(found_entries const& found);
  void stay_behind(range_reply const& found);
  void watch_over(watched_keys const& what);
  watched_keys from_before_to_own() const;
  bool first_by_news(clock::time_point now) const;
  void hold(std::int64_t created, std::int64_t modified, milliseconds ttl);
  void take_turn(std::int64_t modified, clock::time_point sent);
  void grant_all(clock::time_point sent);
  void grant_to(waiter& op, clock::time_point sent, milliseconds left) const;
  void forget();
  void join_again();
  void join_waiters();
  void stop_watching();

  store_state store_;
  resource const name_;
  owner_token const owner_;
  std::string const prefix_;
  std::string const key_;

  std::deque<step> steps_;  ///< bounded: by max_pending, and one of each kind of our own
  bool running_ = false;
  bool closed_ = false;
  bool look_wanted_ = false;
  std::int64_t told_at_ = 0;  ///< the revision of the news that is to be looked after
  std::function<void()> tell_empty_;
  timer timer_;

  state state_ = state::none;
  std::int64_t lease_ = 0;      ///< the key's present one
  std::int64_t lease_ttl_ = 0;  ///< what it was asked for, in seconds
  bool reusable_ = false;       ///< nothing that is still on its way names our lease
  bool adopted_ = false;        ///< another made the key, and may hold it
  /// A release of what we held had no answer: until then its outcome is not forgotten.
  std::optional<clock::time_point> unconfirmed_until_;
  unconfirmed_releases::number unconfirmed_number_ = 0;
  clock::time_point alive_until_;  ///< the lease lives at least so long
  clock::time_point keep_at_;      ///< queued: when to keep it alive

  std::int64_t created_ = 0;   ///< revision: our rank in the queue, and the fencing token
  std::int64_t modified_ = 0;  ///< the last write that we know of
  milliseconds ttl_{0};
  clock::time_point expires_at_;  ///< held: when we end it

  std::vector<std::shared_ptr<waiter>> waiters_;
  std::string before_;  ///< queued: the key before ours, when we looked last

  // Queued. Behind two: the end of the key two before ours, when it is time to get ready. Next
  // after the first: all that is done from its key to ours, so that one watch tells of both, in
  // order.
  watched_keys watched_;
  watch_stream::watch_id watch_ = 0;
  std::int64_t since_ = 0;    ///< it tells all that came after; raised by a change of our own key
  std::int64_t seen_at_ = 0;  ///< the last look that found our key and the one before it
  bool gone_ = false;         ///< the key that is waited for was deleted
};

/// For a port: the failure with the store and the subject in front.
template <class T>
void complete_with(stores::operation<T>& op, failure const& why) {
  failure told = why;
  told.message = op.failure_of(errc::unavailable, why.message).message;
  op.complete(std::move(told));
}

/// How long etcd lets a lease live that was asked for in milliseconds.
std::int64_t lease_seconds(milliseconds ttl);

/// The time left of a key's holder, from what etcd knows; at least 1 ms while it is there.
asio::awaitable<milliseconds> time_left(std::shared_ptr<connection_pool> connections,
                                        key_entry const& holder, clock::time_point deadline);

failure not_understood();
bool lease_is_gone(call_outcome const& outcome);
clock::time_point after(clock::time_point since, std::int64_t seconds);
inline constexpr milliseconds pause_after_failure{250};

}  // namespace herdlock::etcd
