// One owner's node among the children of a resource: from its creation, through the wait for its
// predecessor, to the lease and its end.
//
//            created            first                       answered
//   entering ───────▶ listing ─────────▶ (fresh proof?) ──▶ proving ───▶ held ──▶ leaving ──▶ gone
//     │  ▲              │  ▲    no: watch                                ▲           ▲
//     │  │ not there    ▼  │    the predecessor                          │           │
//     ▼  │            waiting ───────────── it went ─────────────────────┘           │
//   searching (the reply was lost) ────── nobody wants it any more ─────────────────┘
//
// Every step is one request; ZCONNECTIONLOSS repeats it when there is a connection again, but for
// the creation, whose outcome is looked up first. When the session is lost, its nodes are gone: who
// held has lost, who waits enters again, at the end of the queue.
#pragma once

#include <memory>
#include <vector>

#include "stores/zookeeper/operations.hpp"
#include "stores/zookeeper/session.hpp"

namespace herdlock::zookeeper {

class store_state;

class queue_entry : public std::enable_shared_from_this<queue_entry> {
 public:
  queue_entry(std::shared_ptr<store_state> store, acquire_request const& request);

  resource const& name() const { return name_; }
  owner_token const& owner() const { return owner_; }

  /// Wants the grant: at once if we hold it, else when we get it.
  void join(std::shared_ptr<waiter> const& one);
  void renew(std::shared_ptr<renew_operation> const& one, milliseconds ttl);
  void release(std::shared_ptr<release_operation> const& one);

  void on_connected();
  void on_session_lost();
  /// Something happened to a node that it watches.
  void on_watch_event(std::string const& path, watch_event what);

 private:
  enum class state {
    entering,
    searching,
    listing,
    waiting,
    proving,
    marking,
    in_grace,  // queue_entry_grace.cpp
    held,
    leaving,
    gone
  };
  /// Why it leaves.
  enum class reason { none, released, expired, unwanted };

  // queue_entry.cpp: who wants what
  void complete_all(acquire_reply const& answer);
  void fail_all(int code, std::string const& path);
  void forget(waiter const* one);
  void unwatch();
  void end_wait(std::shared_ptr<waiter> const& one);
  void end_waits_that_are_over();
  void watch_the_wait(std::shared_ptr<waiter> const& one);
  void hold(clock::time_point since);
  void arm();
  void on_ttl_over();
  void on_renewed(std::shared_ptr<renew_operation> const& one, milliseconds ttl, reply answer);
  bool overdue() const { return clock::now() >= since_ + ttl_; }

  // queue_entry_grace.cpp: session_grace
  bool graceful() const;
  bool first_in_grace() const { return state_ == state::marking || state_ == state::in_grace; }
  std::string mark() const { return path_of(std::string(open_mark)); }
  void set_mark(verb how);
  void on_mark_made(reply answer);
  void on_mark_read(reply answer);
  void wait_for_grace();
  void on_mark_set(reply answer);
  void hold_marked(clock::time_point since);

  // queue_entry_steps.cpp: the protocol
  void enter();
  void on_created(reply answer);
  void make_parent();
  void search();
  void on_synced(reply) {}
  void on_searched(reply answer);
  void on_identified(reply answer);
  void list();
  void on_listed(reply answer);
  void watch(std::string const& predecessor);
  void on_watching(reply answer);
  void watch_second(std::string const& node);
  void list_again();
  void on_listed_again(reply answer);
  void win();
  void prove();
  void on_proved(reply answer);
  void leave(reason why);
  void remove_node();
  void on_removed(reply answer);
  void remove_ghosts(std::vector<std::string> const& children);
  void enter_again();
  void be_gone();
  void fail_and_leave(int code, std::string const& path);

  using step_handler = void (queue_entry::*)(reply);
  /// Sends it for the session of our node; a later step makes its answer void.
  void step(verb what, std::string const& path, step_handler done);
  void ask(request what, step_handler done);
  std::string path_of(std::string const& node) const { return parent_ + "/" + node; }
  bool still_parked() const;

  std::shared_ptr<store_state> const store_;
  resource const name_;
  owner_token const owner_;
  std::string const parent_;

  state state_ = state::entering;
  reason reason_ = reason::none;
  std::uint64_t turn_ = 0;     ///< of the present step
  std::uint64_t session_ = 0;  ///< that our node belongs to
  std::string node_;           ///< its name; empty while unknown
  fencing_token fencing_{};
  std::optional<std::uint64_t> parked_at_;  ///< connections() when the creation had to wait
  bool doubtful_ = false;     ///< a creation had no answer: there may be a node that we do not know
  bool removal_cut_ = false;  ///< a removal had no answer: that may be why the node is not there
  bool marked_ = false;       ///< the mark of session_grace is ours
  release_reply outcome_ = release_reply::lost;
  std::string watched_;         ///< our predecessor
  std::string second_watched_;  ///< its predecessor: when that goes, ours may be the holder
  bool behind_the_holder_ = false;

  clock::time_point since_{};
  milliseconds ttl_;
  asio::basic_waitable_timer<clock> timer_;
  std::vector<std::shared_ptr<waiter>> waiters_;
  std::vector<std::shared_ptr<release_operation>> releasing_;
  std::vector<std::shared_ptr<waiter>> next_;  ///< who came while it was leaving
};

}  // namespace herdlock::zookeeper
