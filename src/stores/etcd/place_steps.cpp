// The steps of a place: what it says to the cluster.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "stores/etcd/place.hpp"

namespace herdlock::etcd {
namespace {

constexpr int most_lease_losses = 3;
constexpr milliseconds pause_after_failure{250};

failure not_understood() {
  return make_failure(errc::protocol,
                      "the answer is not one of etcd's v3 API; is it older than 3.4?");
}

bool lease_is_gone(call_outcome const& outcome) {
  return !outcome.why.code && outcome.refused.code == status::not_found;
}

bool lease_exists(call_outcome const& outcome) {
  return outcome.refused.code == status::failed_precondition &&
         outcome.refused.message.find("lease already exists") != std::string::npos;
}

clock::time_point after(clock::time_point since, std::int64_t seconds) {
  return since + std::chrono::seconds(seconds);
}

}  // namespace

// ------------------------------------------------------------------------------- acquire

// The turn passes on when the step ends.
asio::awaitable<void> place::join(std::shared_ptr<acquire_operation> op,
                                  std::shared_ptr<turnstile::ticket> turn) {
  std::uint64_t const number = turn ? turn->number() : 0;
  handed_out_ = unclaimed_ = false;
  for (int i = 0; i < most_lease_losses && !op->settled() && !closed_; ++i) {
    bool const answered = co_await try_to_join(op, number);
    if (answered) break;
  }
  turn.reset();
  // The key is the owner's own, taken by an earlier request or in another process: not to be ended.
  if (handed_out_) co_return;
  bool const useless = unclaimed_ || (op->settled() && state_ == state::none);
  if (useless) co_return co_await leave();
  bool const waiting = std::ranges::find(waiters_, op) != waiters_.end();
  if (op->settled() || waiting) co_return;
  settle_with(*op, make_failure(errc::unavailable,
                                "the lease ends again and again; are the "
                                "members' clocks or disks in order?"));
}

asio::awaitable<failure> place::take_lease(milliseconds ttl, clock::time_point deadline) {
  auto const seconds = lease_seconds(ttl);
  lease_ttl_ = seconds;
  if (std::int64_t const idle = around_.pool->take(seconds); idle != 0) {
    alive_until_ = {};
    lease_ = idle;
    bool const alive = co_await keep_alive(idle);
    if (alive) co_return failure{};
    around_.pool->end(idle);
  }
  lease_ = new_lease_id();
  std::string const body = grant_request(lease_, seconds);
  auto const sent = clock::now();
  auto const outcome = co_await around_.gate->call(path::grant, body, deadline);
  // The number is nobody else's: an attempt without an answer made it.
  bool const there = outcome.attempts > 1 && lease_exists(outcome);
  if (!there && !outcome.ok()) co_return failure_of(outcome);
  auto const lease = there ? lease_reply{seconds, seconds} : lease_in(outcome.body);
  if (!lease) co_return not_understood();
  alive_until_ = after(sent, std::max<std::int64_t>(lease->ttl, 0));
  keep_at_ = sent + std::chrono::seconds(lease->ttl) / 3;
  co_return failure{};
}

// Another process, or an earlier request that failed here, made the key: ours is not needed.
asio::awaitable<void> place::adopt_lease(std::int64_t of_key) {
  around_.pool->end(std::exchange(lease_, of_key));
  reusable_ = false;
  std::string const question = lease_request(of_key);
  auto const sent = clock::now();
  auto const outcome = co_await around_.gate->call(path::time_left, question, step_deadline());
  auto const lease = outcome.ok() ? lease_in(outcome.body) : std::nullopt;
  alive_until_ = after(sent, lease ? std::max<std::int64_t>(lease->ttl, 0) : 0);
  keep_at_ = sent + std::chrono::seconds(lease ? lease->granted_ttl : 0) / 3;
}

// False: the lease ended in between; to be tried again.
asio::awaitable<bool> place::try_to_join(std::shared_ptr<acquire_operation> op,
                                         std::uint64_t turn) {
  auto const deadline = step_deadline();
  auto const sent = clock::now();
  if (state_ == state::none) {
    failure const why = co_await take_lease(op->ttl, deadline);
    if (why.code) settle_with(*op, why);
    if (op->settled()) co_return true;
  }
  if (turn > 0) co_await around_.order->wait_for(turn);
  if (op->settled()) co_return true;
  queue_entry const own{key_, to_value({op->ttl, std::string(owner_.label())}), lease_};
  std::string const body = op->waits ? join_request(prefix_, own) : take_request(prefix_, own);
  // The turn may have taken long to come.
  auto const outcome = co_await around_.gate->call(path::txn, body, step_deadline());
  // An attempt that was lost may still come, after the key has gone: its lease must be gone, too.
  bool const heard = outcome.ok() && outcome.attempts == 1;
  reusable_ = (state_ == state::none || reusable_) && heard;
  if (lease_is_gone(outcome)) {
    forget();
    co_return false;
  }
  auto found = outcome.ok() ? txn_in(outcome.body) : std::nullopt;
  failure why = failure_of(outcome);
  if (!why.code && !found) why = not_understood();
  if (why.code) {
    settle_with(*op, why);
    co_return true;
  }
  co_await enter(op, std::move(*found), sent);
  co_return true;
}

// What the transaction found: we are first, or behind another.
asio::awaitable<void> place::enter(std::shared_ptr<acquire_operation> op, txn_reply found,
                                   clock::time_point sent) {
  key_entry own{key_, "", found.revision, found.revision, lease_};
  key_entry first = own;
  std::string predecessor;
  if (found.succeeded && op->waits && found.ranges.size() == 1) {
    auto const& last = found.ranges[0].entries;
    if (last.size() == 2) predecessor = last[1].key;
    if (last.size() == 2) first = last[1];
  } else if (!found.succeeded && found.ranges.size() == 2 && found.ranges[1].first()) {
    first = *found.ranges[1].first();
    own = found.ranges[0].first() ? *found.ranges[0].first() : key_entry{};
    predecessor = first.key;
  }
  bool const is_ours = first.key == key_;
  bool const made_here = found.succeeded || own.lease == lease_;
  bool const held_now = is_ours && state_ != state::held && made_here;
  if (held_now) {
    hold(own.create_revision, own.mod_revision, op->ttl);
  }
  if (op->settled()) {  // what follows a step sees to the rest
    unclaimed_ = held_now && !wanted();
    if (held_now && !unclaimed_) grant_all(sent);
    co_return;
  }
  bool const foreign = state_ == state::none && !made_here && own.create_revision > 0;
  if (foreign && (is_ours || op->waits)) {
    handed_out_ = is_ours;
    co_await adopt_lease(own.lease);
    if (op->settled()) {
      lease_ = 0;
      co_return;
    }
  }
  if (is_ours) {
    auto const fencing = fencing_token{static_cast<std::uint64_t>(own.create_revision)};
    auto const end = state_ == state::held ? std::min(expires_at_, alive_until_) : alive_until_;
    auto const left = std::chrono::duration_cast<milliseconds>(end - sent);
    grant_term const term{sent, std::clamp(left, milliseconds{0}, op->ttl)};
    waiters_.push_back(op);
    auto const all = std::exchange(waiters_, {});
    for (auto const& one : all) one->settle(acquire_reply(grant{fencing, term}));
    co_return;
  }
  if (!op->waits) {
    if (state_ == state::none) give_lease_away();
    co_return co_await answer_busy(op, std::move(first));
  }
  waiters_.push_back(op);
  bool const last_known = found.succeeded || (state_ == state::queued && watch_ != 0);
  queue_behind(own, last_known && !found.succeeded ? watched_ : predecessor);
}

asio::awaitable<void> place::answer_busy(std::shared_ptr<acquire_operation> op, key_entry first) {
  auto const deadline = step_deadline();
  busy reply{from_value(first.value).label, milliseconds{0}};
  reply.remaining = co_await time_left(around_.gate, first, deadline);
  op->settle(acquire_reply(std::move(reply)));
}

// ------------------------------------------------------------------------------- waiting

asio::awaitable<void> place::look() {
  look_wanted_ = false;
  if (state_ != state::queued || !wanted()) co_return;
  std::string const body = look_request(prefix_, key_, created_);
  auto const sent = clock::now();
  auto const outcome = co_await around_.gate->call(path::txn, body, step_deadline());
  auto const found = outcome.ok() ? txn_in(outcome.body) : std::nullopt;
  if (!found || found->ranges.size() != 3) {
    if (clock::now() >= alive_until_) join_again();
    keep_at_ = std::min(keep_at_, clock::now() + pause_after_failure);
    co_return;
  }
  auto const* own = found->ranges[0].first();
  auto const* first = found->ranges[1].first();
  auto const* before = found->ranges[2].first();
  if (!own || !first || own->create_revision != created_) co_return join_again();
  if (first->key != key_) {
    co_return queue_behind(*own, before ? before->key : first->key);
  }
  if (!wanted()) co_return;
  hold(own->create_revision, own->mod_revision, waiters_.front()->ttl);
  grant_all(sent);
}

// A time that was set has come: to keep the lease alive, or the end of somebody's wait.
asio::awaitable<void> place::tick() {
  if (state_ != state::queued) co_return;
  if (clock::now() >= keep_at_) {
    bool const alive = co_await keep_alive(lease_);
    if (!alive && state_ == state::queued) co_return join_again();
  }
  co_await look();
  if (state_ != state::queued) co_return;
  auto const now = clock::now();
  std::vector<std::shared_ptr<acquire_operation>> late;
  std::erase_if(waiters_, [&](auto const& op) {
    bool const over = op->until <= now;
    if (over && !op->settled()) late.push_back(op);
    return over;
  });
  if (late.empty()) co_return;
  std::string const body = list_request(prefix_, 1);
  auto const outcome = co_await around_.gate->call(path::range, body, step_deadline());
  auto const found = outcome.ok() ? range_in(outcome.body) : std::nullopt;
  key_entry first;
  if (found && found->first()) first = *found->first();
  if (waiters_.empty()) co_await leave();
  for (auto const& op : late) co_await answer_busy(op, first);
}

// False: it has ended. Without an answer it counts as alive until it must have ended.
asio::awaitable<bool> place::keep_alive(std::int64_t lease) {
  std::string const body = lease_request(lease);
  auto const sent = clock::now();
  auto const outcome = co_await around_.gate->call(path::keep_alive, body, step_deadline());
  auto const reply = outcome.ok() ? lease_in(outcome.body) : std::nullopt;
  if (!reply) {
    keep_at_ = clock::now() + pause_after_failure;
    co_return clock::now() < alive_until_;
  }
  if (reply->ttl <= 0) co_return false;
  alive_until_ = after(sent, reply->ttl);
  keep_at_ = sent + std::chrono::seconds(reply->ttl) / 3;
  co_return true;
}

// ------------------------------------------------------------------------------- holding

asio::awaitable<void> place::prolong(std::shared_ptr<renew_operation> op, milliseconds ttl) {
  if (op->settled()) co_return;
  if (state_ == state::held && clock::now() >= expires_at_) co_await expire();
  std::string const list = list_request(prefix_, 1);
  auto const outcome = co_await around_.gate->call(path::range, list, step_deadline());
  auto const found = outcome.ok() ? range_in(outcome.body) : std::nullopt;
  if (!found) {
    failure const why = failure_of(outcome);
    co_return settle_with(*op, why.code ? why : not_understood());
  }
  auto const* first = found->first();
  if (!first || first->key != key_) {
    if (state_ == state::held) forget();
    co_return op->settle(renew_reply::lost);
  }
  key_entry const own = *first;
  bool const ours = state_ == state::held && own.mod_revision == modified_ && ttl == ttl_;
  auto reply = renew_reply::renewed;
  failure why;
  if (ours) {
    std::string const body = lease_request(own.lease);
    auto const kept = co_await around_.gate->call(path::keep_alive, body, step_deadline());
    auto const lease = kept.ok() ? lease_in(kept.body) : std::nullopt;
    why = failure_of(kept);
    if (!why.code && !lease) why = not_understood();
    if (!why.code && lease->ttl <= 0) reply = renew_reply::lost;
    if (!why.code && lease->ttl > 0 && lease->ttl < lease_seconds(ttl)) {
      reply = co_await move_to_new_lease(own, ttl, why);
    }
    if (!why.code && reply == renew_reply::renewed) expires_at_ = clock::now() + ttl;
  } else {
    reply = co_await move_to_new_lease(own, ttl, why);
  }
  if (why.code) co_return settle_with(*op, why);
  if (reply == renew_reply::lost) forget();
  op->settle(reply);
}

// Another ttl, or another process held it until now (whose own count of the ttl must not end it any
// more): the key is written anew, with a lease of its own; the write tells the two apart.
asio::awaitable<renew_reply> place::move_to_new_lease(key_entry own, milliseconds ttl,
                                                      failure& why) {
  auto const deadline = step_deadline();
  std::int64_t const next = lease_id(name_, owner_, own.mod_revision);
  std::string const grant_body = grant_request(next, lease_seconds(ttl));
  auto const granted = co_await around_.gate->call(path::grant, grant_body, deadline);
  if (lease_exists(granted)) {
    why = co_await freshen(next, ttl, deadline);
  } else {
    why = failure_of(granted);
  }
  if (why.code) co_return renew_reply::lost;
  queue_entry const entry{key_, to_value({ttl, std::string(owner_.label())}), next};
  std::string const body = rewrite_request(entry, own.create_revision);
  auto const outcome = co_await around_.gate->call(path::txn, body, deadline);
  auto const written = outcome.ok() ? txn_in(outcome.body) : std::nullopt;
  why = failure_of(outcome);
  if (!why.code && !written) why = not_understood();
  // Without an answer the key may live with the new lease by now: it is not ended then.
  if (why.code) co_return renew_reply::lost;
  if (!written->succeeded) {
    co_await revoke(next);
    co_return renew_reply::lost;
  }
  lease_ = next;
  reusable_ = false;
  hold(own.create_revision, written->revision, ttl);
  co_await revoke(own.lease);
  co_return renew_reply::renewed;
}

// An earlier attempt without an answer made this lease: it must last for the whole ttl from now on.
asio::awaitable<failure> place::freshen(std::int64_t lease, milliseconds ttl,
                                        clock::time_point deadline) {
  std::string const body = lease_request(lease);
  auto const outcome = co_await around_.gate->call(path::keep_alive, body, deadline);
  auto const kept = outcome.ok() ? lease_in(outcome.body) : std::nullopt;
  if (!outcome.ok()) co_return failure_of(outcome);
  if (kept && kept->ttl >= lease_seconds(ttl)) co_return failure{};
  co_return make_failure(errc::unavailable, "a lease of an earlier attempt is in the way");
}

// Waiters of the same owner, if there are any, end with it.
//
// It waits for nobody's turn: who asked before joins in the order in which they asked, whether the
// resource is free by then or not.
asio::awaitable<void> place::give_back(std::shared_ptr<release_operation> op) {
  if (op->settled()) co_return;
  bool const expired = state_ == state::held && clock::now() >= expires_at_;
  bool const held_it = state_ == state::held && !expired;
  for (auto const& waiter : std::exchange(waiters_, {})) {
    waiter->fail(errc::canceled, "it was released meanwhile");
  }
  std::string const body = leave_request(prefix_, key_);
  auto const outcome = co_await around_.gate->call(path::txn, body, step_deadline());
  auto const found = outcome.ok() ? txn_in(outcome.body) : std::nullopt;
  if (!found) {
    failure const why = failure_of(outcome);
    if (held_it) release_in_doubt_ = expires_at_;
    settle_with(*op, why.code ? why : not_understood());
    co_return co_await leave();
  }
  std::int64_t lease = lease_;
  bool was_first = false;
  if (found->succeeded && found->ranges.size() == 2 && found->ranges[0].first()) {
    lease = found->ranges[0].first()->lease;
    was_first = found->ranges[1].first() && found->ranges[1].first()->key == key_;
  }
  // Nothing there, but an attempt without an answer may have taken it away.
  bool const cut = held_it && outcome.attempts > 1;
  bool const unanswered = !found->succeeded && (cut || in_doubt());
  bool const released = (was_first && !expired) || unanswered;
  reusable_ = reusable_ && found->succeeded && lease == lease_;
  lease_ = lease;
  // Nobody was told: its caller may ask once more.
  if (!op->settled()) {
    release_in_doubt_.reset();
  } else if (released && held_it) {
    release_in_doubt_ = expires_at_;
  }
  op->settle(released ? release_reply::released : release_reply::lost);
  give_lease_away();
  forget();
}

}  // namespace herdlock::etcd
