#include <zookeeper/zookeeper.h>

#include <algorithm>

#include "stores/zookeeper/parents.hpp"
#include "stores/zookeeper/queue_entry.hpp"
#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {

void queue_entry::step(verb what, std::string const& path, step_handler done) {
  ++turn_;
  ask({what, path, {}, session_}, done);
}

void queue_entry::ask(request what, step_handler done) {
  store_->ensemble().call(std::move(what), weak_from_this(),
                          [weak = weak_from_this(), done, turn = turn_](reply answer) {
                            auto self = weak.lock();
                            if (self && self->turn_ == turn) (*self.*done)(std::move(answer));
                          });
}

// The list is asked for behind the creation, without waiting for its answer: a session's requests
// are carried out in order, so it shows the new node and all that came before it.
void queue_entry::enter() {
  auto& ensemble = store_->ensemble();
  state_ = state::entering;
  ++turn_;
  parked_at_.reset();
  if (!ensemble.connected()) parked_at_ = ensemble.connections();
  ask({verb::create, path_of(prefix_of(owner_, store_->how().names)), encode(owner_, ttl_)},
      &queue_entry::on_created);
  ask({verb::children, parent_}, &queue_entry::on_listed);
}

bool queue_entry::still_parked() const {
  return parked_at_ && *parked_at_ == store_->ensemble().connections();
}

void queue_entry::on_created(reply answer) {
  bool const leaving = state_ == state::leaving;
  session_ = answer.session;
  switch (answer.code) {
    case ZOK:
      node_ = answer.text.substr(answer.text.rfind('/') + 1);
      fencing_ = answer.fencing;
      if (leaving) return remove_node();
      state_ = state::listing;
      return;
    case ZCONNECTIONLOSS:
      doubtful_ = true;
      return search();
    case ZNONODE:
      return leaving ? be_gone() : make_parent();
    case ZSESSIONEXPIRED:
      return;  // the session's own event says what follows
    default:
      return fail_and_leave(answer.code, parent_);
  }
}

void queue_entry::make_parent() {
  ++turn_;
  make_parents(store_->ensemble(), parent_, weak_from_this(),
               [weak = weak_from_this(), turn = turn_](int code, std::string const& path) {
                 auto self = weak.lock();
                 if (!self || self->turn_ != turn) return;
                 if (self->state_ == state::leaving) return self->be_gone();
                 if (code == ZOK) return self->enter();
                 if (code == ZSESSIONEXPIRED) return;
                 self->fail_and_leave(code, path);
               });
}

// The answer to the creation was lost. Once we are connected again the former server's requests
// for this session are either in front of the sync or refused by the leader (the session moved), so
// what the list does not show does not come.
void queue_entry::search() {
  if (state_ != state::leaving) state_ = state::searching;
  ++turn_;
  ask({verb::sync, parent_, {}, session_}, &queue_entry::on_synced);
  ask({verb::children, parent_, {}, session_}, &queue_entry::on_searched);
}

void queue_entry::on_searched(reply answer) {
  if (answer.code == ZCONNECTIONLOSS) return search();
  if (answer.code == ZSESSIONEXPIRED) return;
  if (answer.code != ZOK && answer.code != ZNONODE) return fail_and_leave(answer.code, parent_);
  node_.clear();
  for (auto const& one : in_order(std::move(answer.names))) {
    if (!is_of(owner_, one)) continue;
    node_ = one;
    break;
  }
  if (state_ == state::leaving) return node_.empty() ? be_gone() : remove_node();
  if (node_.empty()) return enter();
  step(verb::get, path_of(node_), &queue_entry::on_identified);
}

void queue_entry::on_identified(reply answer) {
  if (answer.code == ZSESSIONEXPIRED) return;
  if (answer.code == ZCONNECTIONLOSS) return search();
  if (answer.code == ZNONODE) return enter_again();
  if (answer.code != ZOK) return fail_and_leave(answer.code, path_of(node_));
  fencing_ = answer.fencing;
  list();
}

void queue_entry::list() {
  state_ = state::listing;
  step(verb::children, parent_, &queue_entry::on_listed);
}

void queue_entry::on_listed(reply answer) {
  if (state_ != state::listing) return;  // the creation in front of it failed
  if (answer.code == ZSESSIONEXPIRED) return;
  if (answer.code == ZCONNECTIONLOSS) return list();
  if (answer.code == ZNONODE) return enter_again();
  if (answer.code != ZOK) return fail_and_leave(answer.code, parent_);
  auto const order = in_order(std::move(answer.names));
  auto const mine = std::ranges::find(order, node_);
  if (mine == order.end()) return enter_again();
  if (doubtful_) remove_ghosts(order);
  if (mine == order.begin()) return win();
  behind_the_holder_ = mine == order.begin() + 1;
  std::string const predecessor = path_of(*(mine - 1));
  std::string const before_it = behind_the_holder_ ? "" : path_of(*(mine - 2));
  end_waits_that_are_over();
  if (state_ != state::listing) return;
  watch(predecessor);
  if (!before_it.empty()) watch_second(before_it);
  for (auto const& one : waiters_) watch_the_wait(one);
}

void queue_entry::watch(std::string const& predecessor) {
  state_ = state::waiting;
  unwatch();
  watched_ = predecessor;
  store_->watch(watched_, weak_from_this());
  step(verb::get_watch, watched_, &queue_entry::on_watching);
}

void queue_entry::on_watching(reply answer) {
  if (state_ != state::waiting || answer.code == ZOK || answer.code == ZSESSIONEXPIRED) return;
  auto const predecessor = watched_;
  unwatch();
  if (answer.code == ZNONODE || answer.code == ZCONNECTIONLOSS) return list();
  fail_and_leave(answer.code, predecessor);
}

// Who waits for a waiter finds out in good time when that one has become the holder, so that there
// is nothing left to ask when it goes, too. The answers belong to the same turn as the watch on the
// predecessor, which stays.
void queue_entry::watch_second(std::string const& node) {
  if (second_watched_ != node) {
    if (!second_watched_.empty()) store_->unwatch(second_watched_, this);
    second_watched_ = node;
    store_->watch(second_watched_, weak_from_this());
  }
  store_->ensemble().call({verb::get_watch, node, {}, session_}, weak_from_this(),
                          [weak = weak_from_this(), node, turn = turn_](reply answer) {
                            auto self = weak.lock();
                            if (!self || self->turn_ != turn || self->second_watched_ != node)
                              return;
                            if (answer.code == ZNONODE) self->list_again();
                          });
}

void queue_entry::list_again() {
  store_->unwatch(second_watched_, this);
  second_watched_.clear();
  ask({verb::children, parent_, {}, session_}, &queue_entry::on_listed_again);
}

// Whatever is not as expected is for the watch on the predecessor, or for the next connection.
void queue_entry::on_listed_again(reply answer) {
  if (state_ != state::waiting || answer.code != ZOK) return;
  auto const order = in_order(std::move(answer.names));
  auto const mine = std::ranges::find(order, node_);
  if (mine == order.end() || mine == order.begin() || path_of(*(mine - 1)) != watched_) return;
  behind_the_holder_ = mine == order.begin() + 1;
  if (!behind_the_holder_) watch_second(path_of(*(mine - 2)));
}

// We are first. That a follower shows us so proves nothing about our session: the leader may have
// ended it. A recent write does, since the majority took it.
void queue_entry::win() {
  if (graceful()) return set_mark(verb::make_other);
  auto const proved = store_->ensemble().proved_at();
  auto const recent = std::min(ttl_, store_->how().longest_term()) / 3;
  if (proved && clock::now() - *proved <= recent) return hold(*proved);
  prove();
}

void queue_entry::prove() {
  state_ = state::proving;
  step(verb::check, path_of(node_), &queue_entry::on_proved);
}

void queue_entry::on_proved(reply answer) {
  if (state_ != state::proving || answer.code == ZSESSIONEXPIRED) return;
  if (answer.code == ZCONNECTIONLOSS) return prove();
  if (answer.code == ZNONODE) return enter_again();
  if (answer.code != ZOK) return fail_and_leave(answer.code, path_of(node_));
  hold(answer.sent);
}

// An operator took our node, or all of the queue.
void queue_entry::enter_again() {
  node_.clear();
  enter();
}

void queue_entry::leave(reason why) {
  if (state_ == state::leaving || state_ == state::gone) return;
  auto const was = std::exchange(state_, state::leaving);
  reason_ = why;
  unwatch();
  timer_.cancel();
  // Until the node is gone the guard goes on watching: our executor may be blocked from here on.
  if (was == state::entering && still_parked()) return be_gone();
  // Otherwise the answer on its way tells whether there is anything to remove.
  if (!node_.empty()) remove_node();
}

// A lease that ran out leaves its mark.
void queue_entry::remove_node() {
  bool const both = marked_ && reason_ == reason::released;
  ++turn_;
  request what{both ? verb::remove_both : verb::remove, path_of(node_), {}, session_};
  if (both) what.other = mark();
  ask(std::move(what), &queue_entry::on_removed);
}

void queue_entry::on_removed(reply answer) {
  if (answer.code == ZSESSIONEXPIRED) return be_gone();
  if (answer.code == ZCONNECTIONLOSS) {
    removal_cut_ = true;
    return remove_node();
  }
  // Which of the two is not there, the other way tells. From here on the mark may be the next
  // one's.
  bool const mark_too = std::exchange(marked_, false) && reason_ == reason::released;
  if (answer.code != ZOK && mark_too) return remove_node();
  if (answer.code != ZOK && answer.code != ZNONODE) {
    for (auto const& one : std::exchange(releasing_, {})) {
      one->complete(store_->explain(*one, answer.code, path_of(node_)));
    }
    return be_gone();
  }
  bool const ours = answer.code == ZOK || removal_cut_;
  if (ours && reason_ == reason::released) outcome_ = release_reply::released;
  if (doubtful_) return search();
  be_gone();
}

// Those of ours that we had given up for never made.
void queue_entry::remove_ghosts(std::vector<std::string> const& children) {
  for (auto const& one : children) {
    if (one == node_ || !is_of(owner_, one)) continue;
    store_->ensemble().call({verb::remove, path_of(one), {}, session_}, weak_from_this(),
                            [](reply const&) {});
  }
}

void queue_entry::be_gone() {
  if (state_ == state::gone) return;
  auto const keep = shared_from_this();
  state_ = state::gone;
  ++turn_;
  timer_.cancel();
  store_->ensemble().expiry().forget(this);
  unwatch();
  store_->remove(*this);
  for (auto const& one : std::exchange(releasing_, {})) one->complete_later(outcome_);
  for (auto const& one : std::exchange(next_, {})) store_->enqueue(one);
}

void queue_entry::fail_and_leave(int code, std::string const& path) {
  bool const no_node = node_.empty();
  fail_all(code, path);
  if (no_node) return be_gone();
  leave(reason::unwanted);
}

}  // namespace herdlock::zookeeper
