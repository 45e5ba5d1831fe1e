#include "stores/zookeeper/queue_entry.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>

#include "stores/common/shared_timer.hpp"
#include "stores/zookeeper/queries.hpp"
#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {

queue_entry::queue_entry(std::shared_ptr<store_state> store, acquire_request const& request)
    : store_(std::move(store)),
      node_(*store_, *this, request),
      before_(*store_, *this, node_),
      timer_(store_->pending()->executor()),
      mark_(node_, *this, timer_),
      ttl_(request.ttl) {}

void queue_entry::join(std::shared_ptr<waiter> const& one) {
  one->queue = weak_from_this();
  if (state_ == state::held && overdue()) leave(reason::expired);
  if (state_ == state::held) {
    return one->complete_later(acquire_reply(grant{node_.fencing(), grant_validity{since_, ttl_}}));
  }
  if (state_ == state::leaving) return next_.push_back(one);
  if (state_ == state::gone) return store_->enqueue(one);
  waiters_.push_back(one);
  if (node_.turn() == 0) {
    node_.belong_to(weak_from_this());
    return enter();
  }
  if (state_ == state::waiting) watch_the_wait(one);
}

void queue_entry::watch_the_wait(std::shared_ptr<waiter> const& one) {
  if (!one->waits()) return end_wait(one);
  one->at_the_end([weak = weak_from_this(), one] {
    auto const self = weak.lock();
    if (self && self->state_ == state::waiting) self->end_wait(one);
  });
}

// The node goes first: what is read for the answer then shows the others alone.
void queue_entry::end_wait(std::shared_ptr<waiter> const& one) {
  one->queue.reset();
  on_left(*one);
  tell_holder(store_, one, when_free::say_busy);
}

void queue_entry::on_left(waiter& one) {
  auto const is_it = [&one](auto const& each) { return each.get() == &one; };
  std::erase_if(next_, is_it);
  bool const wanted = std::erase_if(waiters_, is_it) > 0;
  if (state_ == state::marking) return;
  if (wanted && waiters_.empty() && state_ != state::held) leave(reason::unwanted);
}

void queue_entry::hold(clock::time_point since) {
  state_ = state::held;
  since_ = since;
  expiry_guard::node const node{node_.path(), node_.session_number()};
  store_->ensemble().expiry().watch_over(this, node, since_ + ttl_);
  arm();
  acquire_reply const mine = grant{node_.fencing(), grant_validity{since_, ttl_}};
  for (auto const& one : std::exchange(waiters_, {})) one->complete(mine);
}

// Setting the timer again does not take back a call that is on its way.
void queue_entry::arm() {
  stores::run_at(timer_, since_ + ttl_, weak_from_this(), [](queue_entry& self) {
    if (self.state_ == state::held && self.overdue()) self.leave(reason::expired);
  });
}

void queue_entry::renew(std::shared_ptr<renew_operation> const& one, milliseconds ttl) {
  if (state_ == state::held && overdue()) leave(reason::expired);
  if (state_ != state::held) return one->complete_later(renew_reply::lost);
  // What others read of the node only changes with the ttl. Without a change nobody is woken, and
  // the transaction still needs a majority that knows the session and the node.
  request what{verb::check, node_.path(), {}, node_.session_number()};
  if (ttl != ttl_) {
    what.what = verb::set;
    what.data = encode(owner(), ttl);
  }
  store_->ensemble().call(std::move(what), one,
                          [weak = weak_from_this(), asked = std::weak_ptr<renew_operation>(one),
                           ttl](reply const& answer) {
                            auto alive = asked.lock();
                            if (!alive || alive->completed()) return;
                            auto self = weak.lock();
                            if (!self) return alive->complete(renew_reply::lost);
                            self->on_renewed(alive, ttl, answer);
                          });
}

void queue_entry::on_renewed(std::shared_ptr<renew_operation> const& one, milliseconds ttl,
                             reply const& answer) {
  if (state_ != state::held) return one->complete(renew_reply::lost);
  switch (answer.code) {
    case ZOK:
      if (!store_->ensemble().expiry().prolong(this, answer.sent + ttl)) {
        leave(reason::expired);  // too late: the former end has come
        return one->complete(renew_reply::lost);
      }
      since_ = answer.sent;
      ttl_ = ttl;
      arm();
      return one->complete(renew_reply::renewed);
    case ZCONNECTIONLOSS:
      return renew(one, ttl);
    case ZNONODE:  // somebody took it
      be_gone();
      return one->complete(renew_reply::lost);
    case ZSESSIONEXPIRED:
      return one->complete(renew_reply::lost);
    default:
      return one->fail(store_->explain(answer.code, node_.path()));
  }
}

void queue_entry::release(std::shared_ptr<release_operation> const& one) {
  if (state_ == state::gone) return one->complete_later(release_reply::lost);
  bool const stays = state_ == state::marking;
  if (!stays) releasing_.push_back(one);
  if (state_ == state::held) return leave(overdue() ? reason::expired : reason::released);
  // It is given up before it was granted.
  for (auto const& each : std::exchange(waiters_, {})) each->complete_later(acquire_reply(busy{}));
  if (stays) return one->complete_later(release_reply::lost);
  leave(reason::unwanted);
}

void queue_entry::on_connected() {
  if (state_ == state::waiting) list();
}

void queue_entry::on_session_lost() {
  if (state_ == state::entering && node_.still_parked()) return;
  before_.stop();
  node_.forget();
  node_.begin();
  if (state_ == state::held) store_->ends().tell(name(), owner(), "its session has ended");
  if (state_ == state::held || state_ == state::leaving) return be_gone();
  timer_.cancel();
  if (waiters_.empty()) return be_gone();
  enter();
}

void queue_entry::on_watch_event(std::string const& path, watch_event what) {
  if (state_ != state::waiting) return;
  auto const news = before_.on_event(path, what);
  if (news == predecessor_watch::news::first) return win();
  if (news == predecessor_watch::news::look) list();
}

// The list is asked for behind the making, without waiting for its answer: a session's requests are
// carried out in order, so it shows the new node and all that came before it.
void queue_entry::enter() {
  state_ = state::entering;
  node_.make(store_->how().names, ttl_);
  node_.ask({verb::children, node_.parent()},
            [this](reply answer) { on_listed(std::move(answer)); });
}

void queue_entry::list() {
  state_ = state::listing;
  node_.ask_next(verb::children, node_.parent(),
                 [this](reply answer) { on_listed(std::move(answer)); });
}

// Where our node is missing, an operator took it, or all of the queue.
void queue_entry::on_listed(reply answer) {
  if (state_ != state::listing) return;  // the making in front of it failed
  if (answer.code == ZSESSIONEXPIRED) return;
  if (answer.code == ZCONNECTIONLOSS) return list();
  if (answer.code == ZNONODE) return enter();
  if (answer.code != ZOK) return fail_and_leave(answer.code, node_.parent());
  auto const order = in_order(std::move(answer.names));
  auto const mine = std::ranges::find(order, node_.node());
  if (mine == order.end()) return enter();
  node_.remove_ghosts(order);
  if (mine == order.begin()) return win();
  auto const waiting = waiters_;
  for (auto const& one : waiting) {
    if (one->until <= clock::now()) end_wait(one);
  }
  if (state_ != state::listing) return;
  state_ = state::waiting;
  before_.watch(order, static_cast<std::size_t>(mine - order.begin()));
  for (auto const& one : waiters_) watch_the_wait(one);
}

// We are first. That a follower shows us so proves nothing about our session: the leader may have
// ended it. A recent write does, since the majority took it.
void queue_entry::win() {
  if (store_->how().session_grace > milliseconds{0}) {
    state_ = state::marking;
    return mark_.make(store_->how().session_grace);
  }
  auto const proved = store_->ensemble().proved_at();
  auto const recent = std::min(ttl_, store_->how().longest_validity()) / 3;
  if (proved && clock::now() - *proved <= recent) return hold(*proved);
  prove();
}

void queue_entry::prove() {
  state_ = state::proving;
  node_.ask_next(verb::check, node_.path(), [this](reply const& answer) { on_proved(answer); });
}

void queue_entry::on_proved(reply const& answer) {
  if (state_ != state::proving || answer.code == ZSESSIONEXPIRED) return;
  if (answer.code == ZCONNECTIONLOSS) return prove();
  if (answer.code == ZNONODE) return enter();
  if (answer.code != ZOK) return fail_and_leave(answer.code, node_.path());
  hold(answer.sent);
}

void queue_entry::on_marked(clock::time_point since) {
  marked_ = true;
  bool const wanted = !waiters_.empty();
  hold(since);
  if (!wanted) leave(reason::released);
}

void queue_entry::on_mark_without_node() {
  if (waiters_.empty()) return be_gone();
  enter();
}

// A lease that ran out leaves its mark.
void queue_entry::leave(reason why) {
  if (state_ == state::leaving || state_ == state::gone) return;
  auto const was = std::exchange(state_, state::leaving);
  reason_ = why;
  before_.stop();
  timer_.cancel();
  // Until the node is gone the guard goes on watching: our executor may be blocked from here on.
  if (was == state::entering && node_.still_parked()) return be_gone();
  bool const both = marked_ && why == reason::released;
  node_.remove(both ? mark_.path() : std::string());
}

void queue_entry::on_node_removed(int code) {
  if (code == ZOK && reason_ == reason::released) outcome_ = release_reply::released;
  if (code == ZOK) return;
  for (auto const& one : std::exchange(releasing_, {})) {
    one->fail(store_->explain(code, node_.path()));
  }
}

void queue_entry::be_gone() {
  if (state_ == state::gone) return;
  auto const keep = shared_from_this();
  state_ = state::gone;
  node_.begin();
  timer_.cancel();
  store_->ensemble().expiry().forget(this);
  before_.stop();
  store_->remove(*this);
  for (auto const& one : std::exchange(releasing_, {})) one->complete_later(outcome_);
  for (auto const& one : std::exchange(next_, {})) store_->enqueue(one);
}

void queue_entry::fail_and_leave(int code, std::string const& path) {
  bool const no_node = node_.node().empty();
  for (auto const& one : std::exchange(waiters_, {})) {
    one->fail(store_->explain(code, path));
  }
  if (no_node) return be_gone();
  leave(reason::unwanted);
}

}  // namespace herdlock::zookeeper
