#include "stores/postgres/resource_queue.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "stores/common/shared_timer.hpp"
#include "stores/postgres/holder_search.hpp"
#include "stores/postgres/sql_error.hpp"

namespace herdlock::postgres {
namespace {

constexpr std::size_t max_lock_numbers = 65536;

milliseconds as_wait(clock::duration span) {
  auto const most = milliseconds{std::numeric_limits<std::int32_t>::max()};
  return std::clamp(std::chrono::ceil<milliseconds>(span), milliseconds{1}, most);
}

milliseconds left_of(clock::time_point end) {
  return std::max(std::chrono::ceil<milliseconds>(end - clock::now()), milliseconds{0});
}

// Rounded down: it is promised.
grant_validity what_is_left(clock::time_point end) {
  auto const now = clock::now();
  auto const left = std::chrono::floor<milliseconds>(end - now);
  return {now, std::max(left, milliseconds{0})};
}

}  // namespace

// From inside the port's call, so whatever is known already is told later.
void resource_queue::enter(waiter_ptr const& one) {
  one->queue = weak_from_this();
  if (holder_ && holder_->request.owner == one->request.owner) {
    return one->complete_later(acquire_reply(grant{holder_->fencing, what_is_left(holder_->end)}));
  }
  if (!one->waits() && (holder_ || (asking_ && asking_->waits() && !asking_->completed()))) {
    return holder_ ? one->complete_later(busy_here()) : busy_elsewhere(one);
  }
  one->at_the_end([weak = weak_from_this(), one] {
    auto const self = weak.lock();
    if (!self || one == self->asking_) return;
    if (!self->holder_) return self->busy_elsewhere(one);
    if (self->holder_->request.owner == one->request.owner) return;
    one->complete(self->busy_here());
  });
  waiting_.push_back(one);
  ask();
}

void resource_queue::ask() {
  tell_not_held();
  std::erase_if(waiting_, [](waiter_ptr const& one) { return one->completed(); });
  if (holder_ || asking_) return;
  if (waiting_.empty()) return rest();
  asking_ = waiting_.front();
  waiting_.pop_front();
  if (session_) return send(asking_, attempt::next);
  auto const known = state_->lock_numbers.find(name_.str());
  if (known == state_->lock_numbers.end()) return look_up_lock();
  lock_ = known->second;
  take_session();
}

void resource_queue::look_up_lock() {
  state_->commands->run({"meet", {as_bytes(name_.str())}}, [self = shared_from_this(),
                                                            one = asking_](reply const& met) {
    if (self->asking_ != one) return;  // the store was closed
    if (!met) return self->refused(one, met.error());
    auto const stored = met->bytes(0, 0);
    if (stored != self->name_.str()) {
      return self->refused(
          one, make_failure(errc::invalid_name, "its key is that of " + in_quotes(stored) +
                                                    "; give one of them another name"));
    }
    auto& known = self->state_->lock_numbers;
    if (known.size() >= max_lock_numbers) known.clear();
    known[stored] = self->lock_ = met->number(0, 1);
    self->take_session();
  });
}

void resource_queue::take_session() {
  auto const one = asking_;
  auto on_session = [self = shared_from_this(), one](result<std::shared_ptr<session>> const& got) {
    if (self->asking_ != one) return;  // the store was closed, and its sessions with it
    if (!got) return self->refused(one, got.error());
    self->with_session(one, *got);
  };
  state_->sessions->take(std::move(on_session));
}

void resource_queue::with_session(waiter_ptr const& one, std::shared_ptr<session> const& got) {
  session_ = got;
  if (one->completed()) {
    return_session();
    asking_ = nullptr;
    return ask();
  }
  got->on_loss([weak = weak_from_this()] {
    if (auto const self = weak.lock()) self->lost();
  });
  send(one, one->waits() ? attempt::wait : attempt::once);
}

void resource_queue::send(waiter_ptr const& one, attempt how) {
  char const* const name = how == attempt::once ? "try" : how == attempt::wait ? "wait" : "next";
  std::vector<statement> all{{name, grant_parameters(lock_, one->request)}};
  bool const row = state_->what.mode == lock_mode::row && how != attempt::next;
  if (row) all[0].parameters.push_back(as_bytes(name_.str()));
  auto const sent = clock::now();
  if (how == attempt::wait) {
    all[0].parameters.push_back(as_number(as_wait(one->until - sent).count()));
  }
  if (row) all.insert(all.begin(), statement{.name = "begin"});
  auto const limit = how == attempt::wait ? std::nullopt : patience(state_->what.timeout);
  session_->wire().run_together(all, limit,
                                [self = shared_from_this(), one, how, sent](answer const& a) {
                                  self->on_answer(one, how, sent, a);
                                });
}

// 55P03: another session has it, or had it for as long as we were to wait.
void resource_queue::on_answer(waiter_ptr const& one, attempt how, clock::time_point sent,
                               answer const& a) {
  if (one != asking_) return;
  if (a && a->count() > 0) {
    if (a->number(0, 0) == session_->pid()) {
      fencing_token const fencing{static_cast<std::uint64_t>(a->number(0, 1))};
      // A wait that was short leaves most of a ttl that is counted from its beginning.
      if (state_->what.session_grace > milliseconds{0} && how != attempt::next) {
        return look_for_predecessor(one, fencing);
      }
      bool const young = clock::now() - sent <= one->request.ttl / 4;
      return how != attempt::wait || young ? granted(one, fencing, sent) : confirm(one, fencing);
    }
    drop_session();
    return refused(one, make_failure(errc::not_supported,
                                     "a proxy moved the session to another connection; connect "
                                     "to the server itself, or use pool_mode=session"));
  }
  if (a || a.error().state == "55P03") {
    asking_ = nullptr;
    if (state_->what.mode == lock_mode::row) {
      give_up_session();
      tell_released(release_reply::released);
    } else {
      // A wait that ended in an error may have ended behind the lock, at the token's sequence.
      if (a) {
        return_session();
      } else {
        drop_session(release_reply::released);
      }
    }
    busy_elsewhere(one);
    auto const trying = std::exchange(waiting_, {});
    for (auto const& each : trying) {
      if (each->waits()) {
        waiting_.push_back(each);
      } else {
        busy_elsewhere(each);
      }
    }
    return ask();
  }
  // One that tells of an error has had the lock until then.
  // The primary may be found by a new session.
  bool const ended = ends_session(a.error()) || is_read_only(a.error());
  drop_session(ended ? release_reply::lost : release_reply::released);
  if (ended && how == attempt::next) {
    // It was the last holder's, with whose lease its time was up: that frees the lock.
    waiting_.push_front(std::exchange(asking_, nullptr));
    return ask();
  }
  refused(one, to_failure(a.error()));
}

// The server counts the idle time of a session from the end of its last statement, and that may be
// long before we read the answer (the process was stopped in between). So one more statement, sent
// at a time that we know, begins the ttl; if the session has gone meanwhile, so has the grant.
void resource_queue::confirm(waiter_ptr const& one, fencing_token fencing) {
  auto const sent = clock::now();
  session_->wire().run({"renew", {idle_limit(one->request.ttl)}}, state_->what.timeout,
                       [self = shared_from_this(), one, fencing, sent](answer const& a) {
                         if (self->asking_ != one) return;
                         if (!a) return self->refused(one, to_failure(a.error()));
                         self->granted(one, fencing, sent);
                       });
}

void resource_queue::granted(waiter_ptr const& one, fencing_token fencing,
                             clock::time_point since) {
  holder_ = holder{one->request, fencing, since + one->request.ttl};
  asking_ = nullptr;
  tell_released(release_reply::released);
  arm_end();
  if (one->completed()) return hand_over();
  // Completed last: a handler may release at once.
  std::vector<std::pair<waiter_ptr, acquire_reply>> told;
  told.emplace_back(one, grant{fencing, grant_validity{since, one->request.ttl}});
  auto const line = std::exchange(waiting_, {});
  for (auto const& each : line) {
    bool const same = each->request.owner == one->request.owner;
    if (!same && each->waits())
      waiting_.push_back(each);
    else if (same)
      told.emplace_back(each, grant{fencing, what_is_left(holder_->end)});
    else
      told.emplace_back(each, busy_here());
  }
  for (auto& [each, outcome] : told) each->complete(std::move(outcome));
}

void resource_queue::refused(waiter_ptr const& one, failure const& why) {
  if (asking_ == one) asking_ = nullptr;
  if (session_ && !holder_) drop_session();
  // One that had gone already took its session with it; that is nobody else's trouble.
  if (one->completed()) return ask();
  auto const line = std::exchange(waiting_, {});
  one->fail(why);
  for (auto const& each : line) each->fail(why);
  ask();
}

acquire_reply resource_queue::busy_here() const {
  return busy{std::string(holder_->request.owner.label()), left_of(holder_->end)};
}

void resource_queue::busy_elsewhere(waiter_ptr const& one) {
  auto on_found = [state = state_, name = name_, one](found_holder const& found) {
    if (!found) return one->fail(found.error());
    auto const& info = *found;
    // Refused, and nobody has it: the row may have been deleted, and is made again at the next try.
    if (!info) state->lock_numbers.erase(name.str());
    one->complete(acquire_reply(info ? busy{info->holder, info->remaining} : busy{}));
  };
  find_holder(state_->commands, name_, std::move(on_found));
}

void resource_queue::renew(owner_token const& owner, milliseconds ttl,
                           std::function<void(renew_reply)> done) {
  if (!holder_ || !(holder_->request.owner == owner)) return done(renew_reply::lost);
  // A session that does not answer is closed, which frees the lock: a little before the caller's
  // own deadline, so that it is told of the loss and not of a delay.
  session_->wire().run(
      {"renew", {idle_limit(ttl)}}, state_->what.timeout * 9 / 10,
      [self = shared_from_this(), owner, ttl, done = std::move(done)](answer const& a) {
        bool const ours = self->holder_ && self->holder_->request.owner == owner;
        if (!ours || !a || a->number(0, 0) != self->session_->pid()) {
          return done(renew_reply::lost);
        }
        self->holder_->end = clock::now() + ttl;
        self->arm_end();
        done(renew_reply::renewed);
      });
}

// With no lock on it, and no transaction.
void resource_queue::return_session() {
  if (auto const was = std::exchange(session_, nullptr)) state_->sessions->give_back(was);
}

// With it goes what the server had not yet given to the next.
void resource_queue::drop_session(release_reply of_release) {
  auto const was = std::exchange(session_, nullptr);
  if (was) state_->sessions->end(was);
  opened_.reset();
  tell_released(of_release);
}

void resource_queue::tell_released(release_reply outcome) {
  if (auto const told = std::exchange(released_, nullptr)) told(outcome);
}

void resource_queue::tell_lost(char const* why) {
  if (holder_) state_->ends.tell(name_, holder_->request.owner, why);
}

void resource_queue::lost() {
  tell_lost("its session in the server has ended");
  holder_.reset();
  end_timer_.cancel();
  drop_session();
  if (!asking_) ask();
}

void resource_queue::on_left(waiter& one) {
  if (asking_.get() != &one || proving_ == asking_ || !session_ || !one.waits()) return ask();
  // It waits in the server: its session ends, and with it the wait. The next in line comes behind,
  // with another session: this one may be granted the lock before it has ended.
  auto const was = std::exchange(session_, nullptr);
  was->on_loss(nullptr);
  opened_.reset();
  asking_ = nullptr;
  state_->commands->run(
      {"end", {as_number(was->pid()), as_number(was->since())}},
      [state = state_, was, told = std::exchange(released_, nullptr)](reply const& a) {
        state->sessions->end(was);
        bool const lived = a && a->count() > 0;
        if (told) told(lived ? release_reply::released : release_reply::lost);
      });
  ask();
}

std::optional<lease_info> resource_queue::info() const {
  if (!holder_) return std::nullopt;
  lease_info told{std::string(holder_->request.owner.label()), holder_->fencing,
                  left_of(holder_->end)};
  for (auto const& each : waiting_) told.waiters.emplace_back(each->request.owner.label());
  return told;
}

// A holder that does not renew loses the lock to the next; the server would end the session a
// moment later.
void resource_queue::arm_end() {
  stores::run_at(end_timer_, holder_->end, weak_from_this(), [](resource_queue& self) {
    if (self.holder_ && clock::now() >= self.holder_->end) self.expire();
  });
}

void resource_queue::rest() {
  if (unused()) state_->idle(name_);
}

void resource_queue::close() {
  end_timer_.cancel();
  holder_.reset();
  asking_ = nullptr;
  session_ = nullptr;
  released_ = nullptr;
  not_held_.clear();
}

}  // namespace herdlock::postgres
