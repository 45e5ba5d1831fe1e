// What is asked of an entry that holds its resource, and the end of that.
#include "stores/etcd/queue_entry.hpp"

namespace herdlock::etcd {

asio::awaitable<void> queue_entry::prolong(std::shared_ptr<renew_operation> op, milliseconds ttl) {
  if (op->completed()) co_return;
  if (state_ == state::held && clock::now() >= expires_at_) co_await expire();
  auto const present = state_ == state::held ? ttl_ : milliseconds{0};
  auto const made = co_await key_.renew(ttl, present);
  if (made.why.code) co_return op->fail(made.why);
  if (made.moved_from) {
    hold(ttl);
    co_await key_.revoke(*made.moved_from);
    // Waiters of the same owner, whose turn had come: they ask who holds it, and it is them.
    join_waiters();
  } else if (made.reply == renew_reply::renewed) {
    expires_at_ = clock::now() + ttl;
  } else if (made.key_was_ours || state_ == state::held) {
    key_.end_lease();
    forget();
  }
  op->complete(made.reply);
}

// The ttl is over and nobody renewed it here. If another process did, the key was written since.
// Why: docs/stores/etcd.md#seconds-bound-a-crash
asio::awaitable<void> queue_entry::expire() {
  if (state_ != state::held || clock::now() < expires_at_) co_return;
  auto const made = co_await key_.remove_unchanged();
  auto const lease = key_.lease().number;
  forget();
  if (made.removed) co_await key_.revoke(lease);
  // Whoever renewed it elsewhere has put the key on another lease.
  if (made.why.code) store_.leases->end(lease);
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
  // A request that arrives late finds another revision, and touches nothing. Of what we hold or
  // held: no key that the owner acquired anew. Not of what had gone before: an attempt without an
  // answer could then not have taken it away.
  bool const was_ours = state_ == state::held || unconfirmed_.pending();
  auto const how = held_it ? owned_key::removing::held : owned_key::removing::whatever_it_is;
  auto const made = co_await key_.remove(how, was_ours ? key_.created() : 0);
  if (made.why.code) {
    if (held_it) remember_release();
    op->fail(made.why);
    co_return co_await leave();
  }
  // Nothing there, but an attempt without an answer may have taken it away.
  bool const cut = held_it && made.attempts > 1;
  bool const unanswered = !made.removed && (cut || unconfirmed_.pending());
  bool const released = (made.was_first && !expired) || unanswered;
  // Nobody was told: its caller may ask once more.
  if (!op->completed()) {
    unconfirmed_.confirm();
  } else if (released && held_it) {
    remember_release();
  }
  op->complete(released ? release_reply::released : release_reply::lost);
  if (made.with_our_lease) key_.give_lease_away();
  if (!made.with_our_lease) key_.end_lease();
  forget();
}

// Nothing of ours is about the key then: it lives with an etcd lease of its own until that ends.
asio::awaitable<void> queue_entry::hand_to(std::shared_ptr<release_operation> op, heir left_to) {
  if (op->completed()) co_return;
  if (state_ == state::held && clock::now() >= expires_at_) co_await expire();
  auto const made = co_await key_.pass_on(std::move(left_to.to), left_to.ttl);
  if (!made) co_return op->fail(made.error());
  bool const left = *made == release_reply::released;
  if (left) key_.give_lease_away();
  if (!left && state_ == state::held) key_.end_lease();
  if (left || state_ == state::held) join_again();
  op->complete(*made);
}

}  // namespace herdlock::etcd
