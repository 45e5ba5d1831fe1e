#include "stores/zookeeper/contender.hpp"

#include <zookeeper/zookeeper.h>

#include "stores/zookeeper/lobby.hpp"
#include "stores/zookeeper/queries.hpp"

namespace herdlock::zookeeper {

contender::contender(std::shared_ptr<lobby> home, acquire_request const& request)
    : home_(std::move(home)),
      name_(request.name),
      owner_(request.owner),
      parent_(home_->path_of(request.name)),
      ttl_(request.ttl),
      timer_(home_->pending()->executor()) {}

void contender::join(std::shared_ptr<acquire_operation> const& one) {
  one->when_completed([weak = weak_from_this(), raw = one.get()] {
    if (auto self = weak.lock()) self->forget(raw);
  });
  if (state_ == state::held && overdue()) leave(reason::expired);
  if (state_ == state::held) {
    return one->complete_later(acquire_reply(grant{fencing_, grant_term{since_, ttl_}}));
  }
  if (state_ == state::leaving) return next_.push_back(one);
  if (state_ == state::gone) return home_->contend(one);
  wanting_.push_back(one);
  if (turn_ == 0) return enter();
  if (state_ == state::waiting) watch_the_wait(one);
}

void contender::watch_the_wait(std::shared_ptr<acquire_operation> const& one) {
  one->watch_the_wait([weak = weak_from_this(), asked = std::weak_ptr<acquire_operation>(one)] {
    auto self = weak.lock();
    auto alive = asked.lock();
    if (self && alive && !alive->completed() && self->state_ == state::waiting) {
      self->end_wait(alive);
    }
  });
}

// The node goes first: what is read for the answer then shows the others alone.
void contender::end_wait(std::shared_ptr<acquire_operation> const& one) {
  one->when_completed(nullptr);
  forget(one.get());
  answer_busy(home_, one);
}

void contender::end_waits_that_are_over() {
  auto const all = wanting_;
  for (auto const& one : all) {
    if (!one->may_wait()) end_wait(one);
  }
}

void contender::forget(acquire_operation const* one) {
  auto const is_it = [one](auto const& each) { return each.get() == one; };
  std::erase_if(next_, is_it);
  bool const wanted = std::erase_if(wanting_, is_it) > 0;
  if (first_in_grace()) return;
  if (wanted && wanting_.empty() && state_ != state::held) leave(reason::unwanted);
}

void contender::complete_all(acquire_reply const& answer) {
  for (auto const& one : std::exchange(wanting_, {})) one->complete(answer);
}

void contender::fail_all(int code, std::string const& path) {
  for (auto const& one : std::exchange(wanting_, {})) {
    one->complete(home_->explain(*one, code, path));
  }
}

void contender::hold(clock::time_point since) {
  state_ = state::held;
  since_ = since;
  home_->ensemble().expiry().watch_over(this, {path_of(node_), session_}, since_ + ttl_);
  arm();
  complete_all(grant{fencing_, grant_term{since_, ttl_}});
}

void contender::arm() {
  timer_.expires_at(since_ + ttl_);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto self = weak.lock();
    if (!ec && self) self->on_ttl_over();
  });
}

// Setting the timer again does not take back a call that is on its way.
void contender::on_ttl_over() {
  if (state_ == state::held && overdue()) leave(reason::expired);
}

void contender::renew(std::shared_ptr<renew_operation> const& one, milliseconds ttl) {
  if (state_ == state::held && overdue()) leave(reason::expired);
  if (state_ != state::held) return one->complete_later(renew_reply::lost);
  // What others read of the node only changes with the ttl. Without a change nobody is woken, and
  // the transaction still needs a majority that knows the session and the node.
  request what{verb::check, path_of(node_), {}, session_};
  if (ttl != ttl_) {
    what.what = verb::set;
    what.data = encode(owner_, ttl);
  }
  home_->ensemble().call(
      std::move(what), one,
      [weak = weak_from_this(), asked = std::weak_ptr<renew_operation>(one), ttl](reply answer) {
        auto alive = asked.lock();
        if (!alive || alive->completed()) return;
        auto self = weak.lock();
        if (!self) return alive->complete(renew_reply::lost);
        self->on_renewed(alive, ttl, std::move(answer));
      });
}

void contender::on_renewed(std::shared_ptr<renew_operation> const& one, milliseconds ttl,
                           reply answer) {
  if (state_ != state::held) return one->complete(renew_reply::lost);
  switch (answer.code) {
    case ZOK:
      if (!home_->ensemble().expiry().prolong(this, answer.sent + ttl)) {
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
      return one->complete(home_->explain(*one, answer.code, path_of(node_)));
  }
}

void contender::release(std::shared_ptr<release_operation> const& one) {
  if (state_ == state::gone) return one->complete_later(release_reply::lost);
  bool const stays = first_in_grace();
  if (!stays) releasing_.push_back(one);
  if (state_ == state::held) return leave(overdue() ? reason::expired : reason::released);
  // It is given up before it was granted.
  for (auto const& each : std::exchange(wanting_, {})) each->complete_later(acquire_reply(busy{}));
  if (stays) return one->complete_later(release_reply::lost);
  leave(reason::unwanted);
}

void contender::on_connected() {
  if (state_ == state::waiting) list();
}

void contender::on_session_lost() {
  if (state_ == state::entering && still_parked()) return;
  unwatch();
  node_.clear();
  doubtful_ = false;
  ++turn_;
  if (state_ == state::held) home_->ends().tell(name_, owner_, "its session has ended");
  if (state_ == state::held || state_ == state::leaving) return be_gone();
  timer_.cancel();
  if (wanting_.empty()) return be_gone();
  enter();
}

void contender::on_watch(std::string const& path, node_event what) {
  if (state_ != state::waiting) return;
  if (path == outlook_) return what == node_event::gone ? look_again() : look_out(path);
  if (path != watched_) return;
  auto const predecessor = watched_;
  unwatch();
  if (what != node_event::gone) return watch(predecessor);
  // Nobody gets in between: numbers only rise.
  if (behind_the_holder_) return win();
  list();
}

void contender::unwatch() {
  for (auto* each : {&watched_, &outlook_}) {
    if (!each->empty()) home_->unwatch(*each, this);
    each->clear();
  }
}

}  // namespace herdlock::zookeeper
