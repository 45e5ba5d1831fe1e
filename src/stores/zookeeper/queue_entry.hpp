// One owner's entry in the queue for a resource: from the making of its node, through the wait for
// its predecessor, to the lease and its end.
//
//              made             first                       answered
//   entering ───────▶ listing ─────────▶ (fresh proof?) ──▶ proving ───▶ held ──▶ leaving ──▶ gone
//     │  ▲              │  ▲    no: watch         │                      ▲ ▲         ▲
//     │  │ not there    ▼  │    the predecessor   └ session_grace: mark ─┘ │         │
//     ▼  │            waiting ───────────── it went ──────────────────────┘         │
//   searched (the reply was lost) ─────── nobody wants it any more ─────────────────┘
//
// When the session is lost, its nodes are gone: who held has lost, who waits enters again, at the
// end of the queue.
#pragma once

#include <memory>
#include <vector>

#include "stores/common/waiter.hpp"
#include "stores/zookeeper/predecessor_watch.hpp"
#include "stores/zookeeper/session_grace_mark.hpp"

namespace herdlock::zookeeper {

// The ports' operations while they are under way.
using stores::waiter;
using renew_operation = stores::operation<renew_reply>;
using release_operation = stores::operation<release_reply>;
using inspect_operation = stores::operation<std::optional<lease_info>>;
using list_operation = stores::operation<lease_page>;

class queue_entry final : public stores::waiter_queue,
                          public std::enable_shared_from_this<queue_entry> {
 public:
  queue_entry(std::shared_ptr<store_state> store, acquire_request const& request);

  resource const& name() const { return node_.name(); }
  owner_token const& owner() const { return node_.owner(); }

  /// Wants the grant: at once if we hold it, else when we get it.
  void join(std::shared_ptr<waiter> const& one);
  void renew(std::shared_ptr<renew_operation> const& one, milliseconds ttl);
  void release(std::shared_ptr<release_operation> const& one);

  void on_connected();
  void on_session_lost();
  /// Something happened to a node that it watches.
  void on_watch_event(std::string const& path, watch_event what);

  // What becomes of its node:
  void on_node_made() { state_ = state::listing; }
  /// Its place in the queue has to be looked up.
  void list();
  /// It has to be made.
  void enter();
  void on_node_removed(int code);
  /// It is not there, and is not wanted any more.
  void be_gone();
  void fail_and_leave(int code, std::string const& path);
  // See session_grace_mark:
  void on_marked(clock::time_point since);
  void on_mark_without_node();

  void on_left(waiter& one) override;

 private:
  enum class state { entering, listing, waiting, proving, marking, held, leaving, gone };
  /// Why it leaves.
  enum class reason { none, released, expired, unwanted };

  void end_wait(std::shared_ptr<waiter> const& one);
  void watch_the_wait(std::shared_ptr<waiter> const& one);
  void hold(clock::time_point since);
  void arm();
  void on_renewed(std::shared_ptr<renew_operation> const& one, milliseconds ttl,
                  reply const& answer);
  bool overdue() const { return clock::now() >= since_ + ttl_; }
  void on_listed(reply answer);
  void win();
  void prove();
  void on_proved(reply const& answer);
  void leave(reason why);

  std::shared_ptr<store_state> const store_;
  own_node node_;
  predecessor_watch before_;
  asio::basic_waitable_timer<clock> timer_;
  session_grace_mark mark_;

  state state_ = state::entering;
  reason reason_ = reason::none;
  bool marked_ = false;  ///< the mark of session_grace is ours
  release_reply outcome_ = release_reply::lost;
  clock::time_point since_{};
  milliseconds ttl_;
  std::vector<std::shared_ptr<waiter>> waiters_;
  std::vector<std::shared_ptr<release_operation>> releasing_;
  std::vector<std::shared_ptr<waiter>> next_;  ///< who came while it was leaving
};

}  // namespace herdlock::zookeeper
