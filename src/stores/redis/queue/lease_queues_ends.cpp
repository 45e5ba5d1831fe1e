// How waits end: granted, over, cancelled, failed; and how they leave nothing behind.
#include "stores/redis/queue/lease_queues.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "stores/redis/jitter.hpp"

namespace herdlock::redis {

void lease_queues::on_deadline(waiter& one) {
  if (one.now == phase::waiting) leave(one);
}

void lease_queues::on_cancel(std::uint64_t id) {
  auto const found = waiters_.find(id);
  if (found == waiters_.end() || found->second.now != phase::waiting) return;
  complete(found->second,
           make_failure(errc::canceled,
                        "cannot acquire " + in_quotes(found->second.asked.name.str()) + " at " +
                            commands_->how().display_name + ": cancelled by the caller"));
  leave(found->second);
}

// The entry in the queue may be another wait's, too, of the same owner. Then it stays, and nothing
// is asked: false.
bool lease_queues::leave(waiter& one) {
  resource_queue& at = *one.at;
  if (one.now == phase::waiting) {
    one.now = phase::leaving;
    wait_no_more(one);
    timers_->remove(one.end);
  }
  auto const [first, last] = at.by_owner.equal_range(one.asked.owner.str());
  bool const shared = std::any_of(first, last, [&](auto const& each) {
    auto const other = waiters_.find(each.second);
    return other != waiters_.end() && other->second.now == phase::waiting;
  });
  if (shared || closed_) {
    one.has_left = true;
    if (one.caller.open()) complete(one, one.last_seen);
    forget_if_over(one.id);
    return false;
  }
  one.has_left = false;
  ++one.calls;
  auto on_answer = [weak = weak_from_this(), id = one.id,
                    sent = clock::now()](result<std::optional<held>> answer) {
    auto const self = weak.lock();
    if (!self) return;
    self->on_left(id, sent, std::move(answer));
    self->tell();
  };
  operation<leave_message>::start(*commands_,
                                  leave_message{one.asked, one.member, fence_floor_of(*commands_)},
                                  std::move(on_answer));
  return true;
}

void lease_queues::on_left(std::uint64_t id, clock::time_point sent,
                           result<std::optional<held>> answer) {
  auto const found = waiters_.find(id);
  if (found == waiters_.end()) return;
  waiter& one = found->second;
  --one.calls;
  if (answer.has_error()) {
    if (one.caller.open()) complete(one, answer.error());
    // A key of another type is no queue.
    if (!(answer.error() == errc::wrong_type)) return keep_leave(one);
  } else {
    one.at->pending_leaves.erase(id);  // an earlier leave of it may have failed
    retry_leaves(*one.at);
  }
  if (answer.has_value() && *answer) {
    // The grant crossed. Who still waits for an answer gets it; else it is given back.
    one.has_left = true;
    owner_has_it(*one.at, (*answer)->holder,
                 {(*answer)->fencing, grant_validity{sent, (*answer)->remaining}}, news::answer);
    auto const still = waiters_.find(id);
    if (still == waiters_.end()) return;
    if (still->second.caller.open()) complete(still->second, still->second.last_seen);
    return forget_if_over(id);
  }
  one.has_left = true;
  if (one.caller.open()) complete(one, one.last_seen);
  forget_if_over(id);
}

// A leave that failed is not counted as a wait. Of too many the oldest go: most of those whose
// server is out of reach never came there.
void lease_queues::keep_leave(waiter& one) {
  resource_queue& at = *one.at;
  if (!std::exchange(one.leave_pending, true)) ++pending_leaves_;
  at.pending_leaves.insert(one.id);
  if (!at.retry.scheduled()) {
    timers_->add(at.retry, std::chrono::steady_clock::now() + at.retry_pause.next(random_part()));
  }
  if (pending_leaves_ <= max_waits) return;
  auto const oldest = *at.pending_leaves.begin();
  at.pending_leaves.erase(oldest);
  waiters_.at(oldest).has_left = true;
  forget_if_over(oldest);
}

// One of them finds out whether the server takes it now.
// Why: docs/stores/redis.md#a-failed-leave-is-tried-again
void lease_queues::retry_leave(resource_queue& at) {
  auto const name = at.name;
  while (queues_.contains(name) && !at.pending_leaves.empty()) {
    auto const first = *at.pending_leaves.begin();
    at.pending_leaves.erase(first);
    if (leave(waiters_.at(first))) return;
  }
}

void lease_queues::retry_leaves(resource_queue& at) {
  at.retry_pause.reset();
  for (auto const id : std::exchange(at.pending_leaves, {})) leave(waiters_.at(id));
}

// An answer to a call that was sent before the wait ended. It may have been executed after it: a
// command that the server did not know by its hash is sent again, behind the leave or the release.
//   1. enter, sent by its hash: NOSCRIPT.  2. the wait is cancelled, leave: done.
//   3. enter, sent again: the owner is in the queue, and nobody knows.
void lease_queues::after_a_late_answer(waiter& one, clock::time_point sent, outcome const& answer) {
  auto const id = one.id;
  auto const* fresh = answer.has_value() ? std::get_if<fencing_token>(&*answer) : nullptr;
  auto const* state = answer.has_value() ? std::get_if<held>(&*answer) : nullptr;
  std::string const owner = one.asked.owner.str();
  if (fresh) {
    owner_has_it(*one.at, owner, {*fresh, grant_validity{sent, one.asked.ttl}}, news::answer);
  } else if (state && state->holder == owner) {
    owner_has_it(*one.at, owner, {state->fencing, grant_validity{sent, state->remaining}},
                 news::answer);
  } else if (!closed_) {
    one.at->pending_leaves.erase(id);
    leave(one);
    return;
  }
  forget_if_over(id);
}

// Only what nobody here has taken, nor given back already. Whether a release came there whose
// answer was lost, the next leave finds out: else the lease would live to the end of its ttl.
void lease_queues::give_back(waiter& one, fencing_token fencing) {
  resource_queue& at = *one.at;
  if (closed_ || fencing.value <= at.taken.value || fencing == at.given_back) return;
  at.given_back = fencing;
  at.release_lost = false;
  ++one.calls;
  auto on_answer = [weak = weak_from_this(), id = one.id,
                    fencing](result<release_reply> const& answer) {
    auto const self = weak.lock();
    if (!self) return;
    auto const found = self->waiters_.find(id);
    if (found == self->waiters_.end()) return;
    waiter& gone = found->second;
    --gone.calls;
    if (answer.has_error() && !(answer.error() == errc::wrong_type)) {
      gone.at->release_lost = gone.at->given_back == fencing;
      gone.has_left = false;
      return self->keep_leave(gone);
    }
    self->forget_if_over(id);
  };
  operation<release_message>::start(
      *commands_, release_message{one.asked.name, one.asked.owner, fence_floor_of(*commands_)},
      std::move(on_answer));
}

void lease_queues::take(waiter& one, grant what) {
  resource_queue& at = *one.at;
  one.now = phase::granted;
  one.has_left = true;
  at.taken = what.fencing;
  wait_no_more(one);
  timers_->remove(one.end);
  auto const id = one.id;
  if (auto done = one.caller.take()) told_.push_back({std::move(done), what});
  forget_if_over(id);
}

// Last, since a user's handler may throw, and at once: not behind the answer to what its owner
// asked after this.
void lease_queues::tell() {
  auto const self = shared_from_this();
  while (!told_.empty()) {
    auto next = std::move(told_.front());
    told_.pop_front();
    try {
      detail::dispatch_result<acquire_reply>(commands_->executor(), std::move(next.done),
                                             acquire_reply(next.what));
    } catch (...) {  // the others are told in a moment
      asio::post(commands_->executor(), [self] { self->tell(); });
      throw;
    }
  }
}

// What the server has refused (a wrong type, a missing right) has not put it into the queue.
void lease_queues::fail(waiter& one, failure const& why) {
  complete(one, why);
  bool const unknown = why == errc::unavailable || why == errc::timed_out || why == errc::canceled;
  if (unknown || one.queued) return static_cast<void>(leave(one));
  one.now = phase::leaving;
  one.has_left = true;
  wait_no_more(one);
  timers_->remove(one.end);
  forget_if_over(one.id);
}

void lease_queues::fail_all(resource_queue& at, failure const& why) {
  for (auto const id : std::set<std::uint64_t>(at.waiting)) {
    auto const found = waiters_.find(id);
    if (found != waiters_.end() && found->second.now == phase::waiting) fail(found->second, why);
  }
}

void lease_queues::complete(waiter& one, result<acquire_reply> what) {
  one.caller.post(commands_->executor(), std::move(what));
}

void lease_queues::forget_if_over(std::uint64_t id) {
  auto const found = waiters_.find(id);
  if (found == waiters_.end()) return;
  waiter const& one = found->second;
  if (one.now == phase::waiting || one.calls > 0 || !one.has_left) return;
  resource_queue& at = *one.at;
  auto const [first, last] = at.by_owner.equal_range(one.asked.owner.str());
  auto const mine = std::find_if(first, last, [&](auto const& each) { return each.second == id; });
  if (mine != last) at.by_owner.erase(mine);
  at.pending_leaves.erase(id);
  if (one.leave_pending) --pending_leaves_;
  waiters_.erase(found);
  forget_if_unused(at);
}

void lease_queues::forget_if_unused(resource_queue& at) {
  if (!at.waiting.empty() || !at.by_owner.empty()) return;
  bind(at, nullptr);
  queues_.erase(std::string(at.name));
}

void lease_queues::close() {
  if (std::exchange(closed_, true)) return;
  if (timers_) timers_->close();
  subscriptions_->close();
  for (auto& [id, one] : waiters_) {
    complete(one, make_failure(errc::canceled, commands_->how().display_name +
                                                   ": the store handle is being closed"));
  }
  waiters_.clear();
  pending_leaves_ = 0;
  queues_.clear();
}

}  // namespace herdlock::redis
