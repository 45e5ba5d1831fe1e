// The steps of an entry: what it says to the cluster.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "stores/etcd/queue_entry.hpp"

namespace herdlock::etcd {
namespace {

constexpr int most_lease_losses = 3;

}  // namespace

// ------------------------------------------------------------------------------- acquire

// The turn passes on when the step ends.
asio::awaitable<void> queue_entry::join(std::shared_ptr<waiter> op,
                                        std::shared_ptr<fifo_gate::ticket> turn) {
  std::uint64_t const number = turn ? turn->number() : 0;
  if (state_ == state::held) co_await answer_holder(op);
  if (state_ == state::held) co_return;
  if (state_ == state::queued) co_return co_await wait_with_the_others(op);
  for (int i = 0; i < most_lease_losses && !op->completed() && !closed_; ++i) {
    bool const answered = co_await try_to_join(op, number);
    if (answered) break;
  }
  turn.reset();
  if (op->completed() && state_ == state::none) co_return co_await leave();
  bool const waiting = std::ranges::find(waiters_, op) != waiters_.end();
  if (op->completed() || waiting) co_return;
  complete_with(*op, make_failure(errc::unavailable,
                                  "the lease ends again and again; are the "
                                  "members' clocks or disks in order?"));
}

// Asked once more by who holds it. Without the key it is held no more, and the operation joins
// anew.
asio::awaitable<void> queue_entry::answer_holder(std::shared_ptr<waiter> op) {
  if (op->completed()) co_return;
  if (clock::now() >= expires_at_) co_return co_await expire();
  std::string const body = list_request(prefix_, 1);
  auto const sent = clock::now();
  auto const outcome = co_await store_.connections->call(path::range, body, step_deadline());
  auto const found = outcome.ok() ? range_in(outcome.body) : std::nullopt;
  if (!found) {
    failure const why = failure_of(outcome);
    co_return complete_with(*op, why.code ? why : not_understood());
  }
  auto const* first = found->first();
  bool const there = first && first->key == key_ && first->create_revision == created_;
  if (!there) co_return drop();
  auto const end = std::min(expires_at_, alive_until_);
  grant_to(*op, sent, std::chrono::duration_cast<milliseconds>(end - sent));
}

// Asked once more by who waits.
asio::awaitable<void> queue_entry::wait_with_the_others(std::shared_ptr<waiter> op) {
  if (op->completed()) co_return;
  waiters_.push_back(std::move(op));
  co_await look();
  co_await answer_the_late();
}

// False: the lease or the key ended in between; to be tried again.
asio::awaitable<bool> queue_entry::try_to_join(std::shared_ptr<waiter> op, std::uint64_t turn) {
  auto const sent = clock::now();
  auto const wanted = op->waits ? proof::of_lately : proof::of_now;
  failure why = co_await take_lease(op->ttl, step_deadline(), wanted);
  if (why.code) complete_with(*op, why);
  if (op->completed()) co_return true;
  if (turn > 0) co_await store_.gate->wait_for(turn);
  if (op->completed()) co_return true;
  key_write const own{key_, to_value({op->ttl, std::string(owner_.label())}), lease_};
  std::string const body = op->waits ? join_request(prefix_, own) : take_request(prefix_, own);
  created_ = 0;  // what is there from now on may be of this request
  // The turn may have taken long to come.
  auto const outcome = co_await store_.connections->call(path::txn, body, step_deadline());
  // An attempt that was lost may still come, after the key has gone: its lease must be gone, too.
  reusable_ = outcome.ok() && outcome.attempts == 1;
  if (lease_is_gone(outcome)) {
    store_.leases->distrust();
    forget();
    co_return false;
  }
  auto const answer = outcome.ok() ? txn_in(outcome.body) : std::nullopt;
  auto found = answer ? found_entries_in(*answer, *op) : std::nullopt;
  why = failure_of(outcome);
  if (!why.code && !found) why = not_understood();
  if (why.code) {
    complete_with(*op, why);
    co_return true;
  }
  bool const entered = co_await enter(op, std::move(*found), sent);
  co_return entered;
}

// Nothing: the answer has another form than the question asks for.
std::optional<queue_entry::found_entries> queue_entry::found_entries_in(txn_reply const& found,
                                                                        waiter const& op) const {
  key_entry const made{key_, "", found.revision, found.revision, lease_};
  if (!found.succeeded) {
    if (found.ranges.size() != 2 || !found.ranges[1].first()) return std::nullopt;
    auto const* own = found.ranges[0].first();
    return found_entries{own ? *own : key_entry{}, *found.ranges[1].first()};
  }
  if (!op.waits) return found_entries{made, made};
  if (found.ranges.size() != 1) return std::nullopt;
  auto const& last = found.ranges[0].entries;
  if (last.empty() || last[0].key != key_) return std::nullopt;
  return found_entries{made, last.size() > 1 ? last[1] : made,
                       last.size() > 2 ? last[2].key : std::string(), found.revision};
}

// We are first, or behind another. False: to be tried again.
asio::awaitable<bool> queue_entry::enter(std::shared_ptr<waiter> op, found_entries found,
                                         clock::time_point sent) {
  auto& own = found.own;
  auto& before = found.before;
  bool const is_ours = before.key == key_;
  if (!is_ours && !op->waits) {
    give_lease_away();
    if (!op->completed()) co_await answer_busy(op, std::move(before));
    co_return true;
  }
  if (op->completed()) co_return true;
  if (own.lease != lease_) {
    failure why;
    auto const left = co_await adopt(own, op->ttl, why);
    if (why.code) complete_with(*op, why);
    if (!left && !op->completed()) co_return false;
    // Whoever made it holds it still, perhaps: it is not to be ended.
    if (op->completed() && left) forget();
    if (op->completed()) co_return true;
    if (is_ours) {
      auto const asked = from_value(own.value).ttl;
      hold(own.create_revision, own.mod_revision, asked);
      // etcd tells whole seconds, rounded down: we end it no sooner than who made it.
      if (*left > milliseconds{0}) {
        expires_at_ = clock::now() + std::min(*left + milliseconds{1000}, asked);
      }
      grant_to(*op, sent, *left);
      co_return true;
    }
  }
  // At once it is for the whole ttl.
  if (is_ours && alive_until_ < sent + op->ttl) {
    bool const alive = co_await keep_alive(lease_);
    if (!alive) forget();
    if (!alive || op->completed()) co_return alive;
  }
  waiters_.push_back(op);
  if (is_ours) {
    hold(own.create_revision, own.mod_revision, op->ttl);
    grant_all(sent);
  } else {
    queue_behind(found);
  }
  co_return true;
}

asio::awaitable<void> queue_entry::answer_busy(std::shared_ptr<waiter> op, key_entry first) {
  auto const deadline = step_deadline();
  busy reply{from_value(first.value).label, milliseconds{0}};
  reply.remaining = co_await time_left(store_.connections, first, deadline);
  op->complete(acquire_reply(std::move(reply)));
}

// ------------------------------------------------------------------------------- waiting

// Ours and the two before it, as the member that told the news knows them, without asking the
// others. What it shows may be past, but once we are first nobody comes before us any more; that
// it is not older than the news is what the revision tells.
asio::awaitable<std::optional<range_reply>> queue_entry::see(std::int64_t told_at) {
  auto const way = told_at > 0 ? reading::of_the_member : reading::of_the_cluster;
  std::string const body = look_request(prefix_, created_, way);
  auto const outcome = co_await store_.connections->call(path::range, body, step_deadline());
  co_return outcome.ok() ? range_in(outcome.body) : std::nullopt;
}

asio::awaitable<void> queue_entry::look() {
  look_wanted_ = false;
  auto const told_at = std::exchange(told_at_, 0);
  if (state_ != state::queued || !wanted()) co_return;
  auto sent = clock::now();
  if (first_by_news(sent)) co_return take_turn(modified_, sent);
  // A look found what the news tells, and nothing was missed since.
  if (told_at > 0 && since_ > 0 && seen_at_ >= std::max(since_, told_at)) co_return;
  // While the next watch begins to stand. If something happened in between, the look is repeated.
  if (watched_.is_one() && gone_) watch_over(from_before_to_own());
  auto found = co_await see(told_at);
  if (found && found->revision < std::max(told_at, created_)) {
    sent = clock::now();
    found = co_await see(0);
  }
  if (!found) {
    if (clock::now() >= alive_until_) join_again();
    keep_at_ = std::min(keep_at_, clock::now() + pause_after_failure);
    co_return;
  }
  auto const* own = found->first();
  if (!own || own->key != key_ || own->create_revision != created_) co_return join_again();
  if (found->entries.size() > 1) co_return stay_behind(*found);
  if (!wanted()) co_return;
  // An answer that waited for us, not we for it: the key may have gone since.
  if (clock::now() >= alive_until_) co_return join_again();
  if (own->lease != lease_) {  // another handle of the owner goes on with the key
    store_.leases->end(lease_);
    co_return join_again();
  }
  take_turn(own->mod_revision, sent);
}

// A time that was set has come: to keep the lease alive, or the end of somebody's wait.
asio::awaitable<void> queue_entry::tick() {
  if (state_ != state::queued) co_return;
  if (clock::now() >= keep_at_) {
    bool const alive = co_await keep_alive(lease_);
    if (!alive && state_ == state::queued) co_return join_again();
  }
  co_await look();
  co_await answer_the_late();
}

// Those whose wait is over.
asio::awaitable<void> queue_entry::answer_the_late() {
  if (state_ != state::queued) co_return;
  auto const now = clock::now();
  std::vector<std::shared_ptr<waiter>> late;
  std::erase_if(waiters_, [&](auto const& op) {
    bool const over = op->until <= now;
    if (over && !op->completed()) late.push_back(op);
    return over;
  });
  if (late.empty()) co_return;
  std::string const body = list_request(prefix_, 1);
  auto const outcome = co_await store_.connections->call(path::range, body, step_deadline());
  auto const found = outcome.ok() ? range_in(outcome.body) : std::nullopt;
  key_entry first;
  if (found && found->first()) first = *found->first();
  if (waiters_.empty()) co_await leave();
  for (auto const& op : late) co_await answer_busy(op, first);
}

// ------------------------------------------------------------------------------- holding

asio::awaitable<void> queue_entry::prolong(std::shared_ptr<renew_operation> op, milliseconds ttl) {
  if (op->completed()) co_return;
  if (state_ == state::held && clock::now() >= expires_at_) co_await expire();
  // Before the look: whoever goes on with the key after it sees that the lease was kept alive.
  bool const same = state_ == state::held && ttl == ttl_;
  auto const sent = clock::now();
  lease_reply kept;
  if (same) {
    std::string const body = lease_request(lease_);
    auto const outcome = co_await store_.connections->call(path::keep_alive, body, step_deadline());
    auto const reply = outcome.ok() ? lease_in(outcome.body) : std::nullopt;
    failure const why = failure_of(outcome);
    if (!reply) co_return complete_with(*op, why.code ? why : not_understood());
    kept = *reply;
  }
  std::string const list = list_request(prefix_, 1);
  auto const outcome = co_await store_.connections->call(path::range, list, step_deadline());
  auto const found = outcome.ok() ? range_in(outcome.body) : std::nullopt;
  failure why = failure_of(outcome);
  if (!found) co_return complete_with(*op, why.code ? why : not_understood());
  auto const* first = found->first();
  if (!first || first->key != key_) {
    if (state_ == state::held) drop();
    co_return op->complete(renew_reply::lost);
  }
  if (same && first->mod_revision == modified_ && kept.ttl >= lease_seconds(ttl)) {
    alive_until_ = after(sent, kept.ttl);
    expires_at_ = clock::now() + ttl;
    co_return op->complete(renew_reply::renewed);
  }
  key_entry const own = *first;
  auto const reply = co_await move_to_new_lease(own, ttl, why);
  if (why.code) co_return complete_with(*op, why);
  // Waiters of the same owner, whose turn had come: they ask who holds it, and it is them.
  if (reply == renew_reply::renewed) join_waiters();
  if (reply == renew_reply::lost) drop();
  op->complete(reply);
}

// A request that reads nothing compares what only our own key, the first, has.
asio::awaitable<queue_entry::removal> queue_entry::remove_by(std::string const& request) {
  auto const outcome = co_await store_.connections->call(path::txn, request, step_deadline());
  auto const found = outcome.ok() ? txn_in(outcome.body) : std::nullopt;
  removal made;
  made.attempts = outcome.attempts;
  made.why = failure_of(outcome);
  if (!made.why.code && !found) made.why = not_understood();
  made.removed = found && found->succeeded;
  if (!found) co_return made;
  auto const& seen = found->ranges;
  made.not_there = !made.removed && seen.size() == 1 && !seen[0].first();
  if (!made.removed) co_return made;
  made.was_first = made.with_our_lease = seen.empty();
  if (seen.size() == 2 && seen[0].first()) {
    made.with_our_lease = seen[0].first()->lease == lease_;
    made.was_first = seen[1].first() && seen[1].first()->key == key_;
  }
  co_return made;
}

// Waiters of the same owner, if there are any, end with it.
//
// It waits for nobody's turn: who asked before joins in the order in which they asked, whether the
// resource is free by then or not.
asio::awaitable<void> queue_entry::give_back(std::shared_ptr<release_operation> op) {
  if (op->completed()) co_return;
  bool const expired = state_ == state::held && clock::now() >= expires_at_;
  bool const held_it = state_ == state::held && !expired;
  for (auto const& waiter : std::exchange(waiters_, {})) {
    waiter->fail(errc::canceled, "it was released meanwhile");
  }
  removal made;
  // What we hold, in one write that reads nothing, unless another handle of the owner wrote it. One
  // that arrives late finds another revision, and touches nothing.
  if (held_it) {
    std::string const unchanged = remove_unchanged_request(key_, modified_);
    made = co_await remove_by(unchanged);
  }
  int const attempts = made.attempts;
  // With a look at what it was. Of what we hold or held: no key that the owner acquired anew. Not
  // of what had gone before: an attempt without an answer could then not have taken it away.
  if (!made.why.code && !made.removed && !made.not_there) {
    auto const created = state_ == state::held || release_unconfirmed() ? created_ : 0;
    std::string const found = leave_request(prefix_, key_, created);
    made = co_await remove_by(found);
  }
  if (made.why.code) {
    if (held_it) remember_release(expires_at_);
    complete_with(*op, made.why);
    co_return co_await leave();
  }
  // Nothing there, but an attempt without an answer may have taken it away.
  bool const cut = held_it && std::max(attempts, made.attempts) > 1;
  bool const unanswered = !made.removed && (cut || release_unconfirmed());
  bool const released = (made.was_first && !expired) || unanswered;
  reusable_ = reusable_ && made.with_our_lease;
  // Nobody was told: its caller may ask once more.
  if (!op->completed()) {
    confirm_release();
  } else if (released && held_it) {
    remember_release(expires_at_);
  }
  op->complete(released ? release_reply::released : release_reply::lost);
  give_lease_away();
  forget();
}

}  // namespace herdlock::etcd
