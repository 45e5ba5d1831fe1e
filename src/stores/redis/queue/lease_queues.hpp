// Who waits for which resource, through the queue in the server.
//
// A waiter enters the queue in the step that found the resource taken. A release makes the first
// live waiter the owner and pushes the grant to it (hand_over.lua), so that nobody polls. What
// a push cannot tell is found by looking, which is entering once more: once a second (twice in a
// shorter heartbeat), and when the holder's time is over, this process looks at each resource it
// waits for, once for all of its waiters. The look finds an expired holder (and hands over to
// whoever is first), a grant whose push was lost, and a queue that is gone (FLUSHALL, failover),
// which is then entered anew. It also tells the server that this process does not hang. Had it been
// taken for one, all of its waiters left the queue, and the look is told so: all enter once more.
//
// Without the channel (it is being opened, it broke, the user may not listen) the looks come every
// 1 to 50 ms, and the waiters go by names that tell the server not to push.
//
// A wait that ends without a grant leaves the queue. A grant that crosses is taken while the caller
// is still to be told, and given back at once when nobody is. A leave that fails is tried again: at
// a server that refuses writes, or is out of reach, one for each resource is tried again and again,
// and once that one is through all others follow. Until then a grant to one who has gone is given
// back as soon as it is heard of. Where the answer to that release is lost a leave follows, which
// tells whether it is to be sent once more.
//
// In a cluster a waiter is queued at the node that serves its name, under the name of a subscriber
// that listens there (grant_subscriptions.hpp). An answer that comes from another node than the one
// before tells that the slot has moved or that another node has taken over: then all that wait for
// the same enter again, and keep their positions. A new map hastens the look that finds it out.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include <herdlock/backend.hpp>
#include "algo/backoff.hpp"
#include "stores/common/pending.hpp"
#include "stores/redis/queue/grant_subscriptions.hpp"
#include "stores/redis/queue/lease_messages.hpp"
#include "stores/redis/timers.hpp"

namespace herdlock::redis {

/// Waits of one store at a time; one more is errc::overloaded.
inline constexpr std::size_t max_waits = 100'000;
/// A waiter gets the resource for so long at first, until it has shown (by renewing) that it lives:
/// what a waiter that hangs costs the others.
inline constexpr milliseconds heartbeat{2000};
/// How often a store that hears pushes looks at what it waits for, or more often.
inline constexpr milliseconds look_interval{1000};

/// Spans of time, of which the shortest one counts.
class wanted_spans {
 public:
  void add(milliseconds span) { ++counts_[span]; }
  void remove(milliseconds span) {
    auto const at = counts_.find(span);
    if (--at->second == 0) counts_.erase(at);
  }
  milliseconds shortest_or(milliseconds otherwise) const {
    return counts_.empty() ? otherwise : counts_.begin()->first;
  }

 private:
  std::map<milliseconds, int> counts_;
};

/// All members on the executor.
class lease_queues final : public grant_listener,
                           public route_listener,
                           public std::enable_shared_from_this<lease_queues> {
 public:
  lease_queues(std::shared_ptr<router> commands,
               std::shared_ptr<grant_subscriptions> subscriptions);

  /// lease_store::acquire with a wait.
  void wait(acquire_request request, handler<acquire_reply> done);
  /// Whether a wait of this owner has not come to its end yet, with all that it leaves to do.
  bool knows(std::string const& name, owner_token const& owner) const;
  /// Somebody here waits for it who may not be told of a grant: so he asks again and again.
  bool polls(std::string const& name) const;
  /// Completes all with errc::canceled.
  void close();

 private:
  // `leaving`: it does not wait any more, but its entry in the queue may still be there.
  enum class phase { waiting, leaving, granted };
  enum class reason { arrival, look, change };
  enum class news { push, answer };
  struct resource_queue;
  struct waiter {
    waiter(lease_queues& home, resource_queue& queue, acquire_request request,
           handler<acquire_reply> done);

    std::uint64_t id = 0;
    acquire_request asked;
    std::shared_ptr<member_name> member;
    stores::pending<acquire_reply> caller;
    resource_queue* at;
    alarm end;                                        // of the wait
    std::shared_ptr<grant_subscription> queued_by{};  // of the last server that said so
    acquire_reply last_seen = busy{};
    phase now = phase::waiting;
    bool queued = false;
    bool again = false;  // to be entered once more when its call has been answered
    bool has_left = false;
    bool leave_pending = false;  // a leave failed, and nobody waits for it
    int calls = 0;               // under way
  };
  struct resource_queue {
    resource_queue(lease_queues& home, std::string resource_name);

    std::string name;
    std::set<std::uint64_t> waiting{};                               // in the order of arrival
    std::unordered_multimap<std::string, std::uint64_t> by_owner{};  // those that leave, too
    algo::backoff pause;
    alarm look;
    std::shared_ptr<grant_subscription> subscription{};  // of its server, as far as is known
    wanted_spans paces{};                                // between the looks of those that wait
    bool looking = false;
    bool has_strays = false;   // somebody may be queued by another channel than that
    bool has_unheard = false;  // somebody may be in no queue: all enter with the next look
    alarm retry;
    std::set<std::uint64_t> pending_leaves{};  // that are not under way
    algo::backoff retry_pause;
    // Fencing tokens of the last grants that were decided on, either way. One grant is heard of in
    // several ways (a push, a look, the answer to a leave), and is taken once or given back once.
    fencing_token taken{};
    fencing_token given_back{};
    bool release_lost = false;  // the answer to the release of that; it may not have come there

    milliseconds look_every() const { return paces.shortest_or(look_interval); }
  };
  using outcome = result<grant_or_held>;

  void on_listening(grant_subscription& at) override;
  void on_silent(grant_subscription& at) override;
  void on_grant(grant_subscription& at, pushed_grant const& heard) override;
  void on_routes_changed() override;
  void on_connection_left(connection const& which) override;

  failure refusal(acquire_request const& request) const;
  waiter& add(acquire_request request, handler<acquire_reply> done);
  resource_queue& queue_of(std::string const& name);
  void enter(waiter& one, reason why);
  void on_entered(std::uint64_t id, reason why, clock::time_point sent, outcome answer);
  void on_state(waiter& one, reason why, clock::time_point sent, held const& state);
  void owner_has_it(resource_queue& at, std::string const& owner, grant const& what, news from);
  void ask_again(std::vector<std::uint64_t> const& those);
  void enter_all(resource_queue& at, std::uint64_t but_not);
  void enter_strays(resource_queue& at, std::uint64_t but_not);
  void enter_everywhere(grant_subscription const& by);
  void bind(resource_queue& at, std::shared_ptr<grant_subscription> to);
  void note_server(waiter& one, reason why, held const& state);

  bool stands_by(waiter const& one, failure const& why) const;
  void plan_look(resource_queue& at, held const& state);
  void wait_no_more(waiter& one);
  void look_soon(resource_queue& at);
  void look_at(resource_queue& at);
  void on_deadline(waiter& one);
  void on_cancel(std::uint64_t id);
  bool leave(waiter& one);
  void keep_leave(waiter& one);
  void retry_leave(resource_queue& at);
  void retry_leaves(resource_queue& at);
  void on_left(std::uint64_t id, clock::time_point sent, result<std::optional<held>> answer);
  void after_a_late_answer(waiter& one, clock::time_point sent, outcome const& answer);
  void give_back(waiter& one, fencing_token fencing);

  void take(waiter& one, grant what);
  void tell();
  void fail(waiter& one, failure const& why);
  void fail_all(resource_queue& at, failure const& why);
  void complete(waiter& one, result<acquire_reply> what);
  void forget_if_over(std::uint64_t id);
  void forget_if_unused(resource_queue& at);
  void keep_beating();

  struct granted {
    handler<acquire_reply> done;
    grant what;
  };

  std::shared_ptr<router> commands_;
  std::shared_ptr<grant_subscriptions> subscriptions_;
  std::shared_ptr<steady_shared_timer> timers_;
  std::unordered_map<std::uint64_t, waiter> waiters_;
  std::unordered_map<std::string, resource_queue> queues_;
  std::deque<granted> told_;        // by tell(), at the end of the event
  std::size_t pending_leaves_ = 0;  // of the waiters
  wanted_spans beats_;              // of those that wait
  alarm beat_;
  std::uint64_t last_id_ = 0;
  bool closed_ = false;
};

}  // namespace herdlock::redis
