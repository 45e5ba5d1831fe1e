#include "stores/etcd/queue_entry.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace herdlock::etcd {
namespace {

// Longer than anybody waits; a time point further on would not fit into the clock.
constexpr milliseconds longest_wait = 2 * limits::max_ttl;

clock::time_point end_of_wait(milliseconds wait) {
  return clock::now() + std::clamp(wait, milliseconds{0}, longest_wait);
}

}  // namespace

waiter::waiter(std::shared_ptr<stores::pending_operations> const& pending,
               stores::order<acquire_reply> what, milliseconds for_ttl, milliseconds wait,
               milliseconds timeout)
    : operation(pending, std::move(what), end_of_wait(wait) + timeout),
      ttl(for_ttl),
      until(deadline() - timeout),
      waits(wait > milliseconds{0}) {}

void waiter::on_completed() {
  if (auto const where = where_.lock()) where->on_waiter_gone();
}

queue_entry::queue_entry(store_state store, resource name, owner_token owner)
    : store_(std::move(store)),
      name_(std::move(name)),
      owner_(std::move(owner)),
      prefix_(key_prefix(name_)),
      key_(key_of(name_, lease_id(name_, owner_, 0))),
      timer_(store_.connections->executor()) {}

void queue_entry::acquire(std::shared_ptr<waiter> op) {
  op->joined(weak_from_this());
  auto turn = op->waits ? store_.gate->take() : nullptr;
  add([this, op = std::move(op), turn = std::move(turn)] { return join(op, turn); });
}

void queue_entry::renew(std::shared_ptr<renew_operation> op, milliseconds ttl) {
  add([this, op = std::move(op), ttl] { return prolong(op, ttl); });
}

void queue_entry::release(std::shared_ptr<release_operation> op) {
  add([this, op = std::move(op)] { return give_back(op); });
}

void queue_entry::add(step what) {
  steps_.push_back(std::move(what));
  if (running_) return;
  running_ = true;
  asio::co_spawn(store_.connections->executor(), run(), asio::detached);
}

asio::awaitable<void> queue_entry::run() {
  auto const self = shared_from_this();
  while (!steps_.empty()) {
    step next = std::move(steps_.front());
    steps_.pop_front();
    auto work = next();
    next = nullptr;  // the step alone has its turn now
    co_await std::move(work);
    after_step();
  }
  running_ = false;
  arm();
  if (state_ == state::none && !release_unconfirmed()) tell_empty();
}

void queue_entry::tell_empty() {
  confirm_release();
  if (auto const tell = std::exchange(tell_empty_, {})) tell();
}

void queue_entry::remember_release(clock::time_point end) {
  unconfirmed_until_ = end;
  if (unconfirmed_number_ != 0) return;
  unconfirmed_number_ = store_.unconfirmed->add([weak = weak_from_this()] {
    if (auto const self = weak.lock()) self->on_release_dropped();
  });
}

void queue_entry::confirm_release() {
  unconfirmed_until_.reset();
  store_.unconfirmed->remove(std::exchange(unconfirmed_number_, 0));
}

// There are too many of them.
void queue_entry::on_release_dropped() {
  confirm_release();
  if (running_ || state_ != state::none) return;
  timer_.cancel();
  tell_empty();
}

// Waiters that ended meanwhile need no entry.
void queue_entry::after_step() {
  std::erase_if(waiters_, [](auto const& op) { return op->completed(); });
  if (state_ == state::queued && waiters_.empty() && steps_.empty()) {
    steps_.push_back([this] { return leave(); });
  }
}

bool queue_entry::wanted() const {
  return std::ranges::any_of(waiters_, [](auto const& op) { return !op->completed(); });
}

void queue_entry::on_waiter_gone() {
  if (state_ == state::queued && !running_ && !wanted()) add([this] { return leave(); });
}

void queue_entry::close() {
  closed_ = true;
  timer_.cancel();
  stop_watching();
  if (state_ == state::queued && !running_) add([this] { return leave(); });
}

void queue_entry::arm() {
  bool const forgets = state_ == state::none && release_unconfirmed();
  if (closed_ || (state_ == state::none && !forgets)) {
    timer_.cancel();
    return;
  }
  auto next = state_ == state::held ? expires_at_ : keep_at_;
  if (forgets) next = *unconfirmed_until_;
  if (state_ == state::queued) {
    for (auto const& op : waiters_) next = std::min(next, op->until);
  }
  timer_.expires_at(next);
  timer_.async_wait([weak = weak_from_this()](error_code ec) {
    auto const self = weak.lock();
    if (!ec && self) self->on_timer();
  });
}

void queue_entry::on_timer() {
  if (running_ || closed_) return;  // it is armed again when the steps are done
  if (state_ == state::none) return tell_empty();
  if (state_ == state::held) add([this] { return expire(); });
  if (state_ == state::queued) add([this] { return tick(); });
}

std::optional<milliseconds> queue_entry::remaining(std::string const& key) const {
  if (state_ != state::held || key != key_) return std::nullopt;
  auto const left = std::chrono::duration_cast<milliseconds>(expires_at_ - clock::now());
  return std::max(left, milliseconds{1});
}

// A little before the deadline of what it is for: its answer tells more than the timer's.
clock::time_point queue_entry::step_deadline() const {
  auto const timeout = store_.connections->how().timeout;
  return clock::now() + timeout - timeout / 20;
}

void queue_entry::hold(std::int64_t created, std::int64_t modified, milliseconds ttl) {
  state_ = state::held;
  stop_watching();
  confirm_release();
  created_ = created;
  modified_ = modified;
  ttl_ = ttl;
  expires_at_ = clock::now() + ttl;
}

void queue_entry::take_turn(std::int64_t modified, clock::time_point sent) {
  hold(created_, modified, waiters_.front()->ttl);
  grant_all(sent);
}

// The lease was kept alive some time before the look that found us first, so what is left of it
// may be less than the ttl.
void queue_entry::grant_all(clock::time_point sent) {
  auto const left = std::chrono::duration_cast<milliseconds>(alive_until_ - sent);
  auto const all = std::exchange(waiters_, {});
  for (auto const& op : all) grant_to(*op, sent, left);
}

void queue_entry::grant_to(waiter& op, clock::time_point sent, milliseconds left) const {
  grant_term const term{sent, std::clamp(left, milliseconds{0}, op.ttl)};
  op.complete(acquire_reply(grant{fencing_token{static_cast<std::uint64_t>(created_)}, term}));
}

void queue_entry::forget() {
  stop_watching();
  state_ = state::none;
  reusable_ = false;
  adopted_ = false;
  lease_ = 0;
}

// The key is gone, or goes on with another lease.
void queue_entry::drop() {
  store_.leases->end(lease_);
  forget();
}

// It has no key.
void queue_entry::give_lease_away() {
  auto const lease = std::exchange(lease_, 0);
  if (std::exchange(reusable_, false)) return store_.leases->keep(lease, lease_ttl_, alive_until_);
  store_.leases->end(lease);
}

// Our lease ended while we waited (the process was stopped, the cluster was gone for too long):
// the rank in the queue is lost, the wait is not.
void queue_entry::join_again() {
  forget();
  join_waiters();
}

void queue_entry::join_waiters() {
  auto const all = std::exchange(waiters_, {});
  for (auto const& op : all) {
    if (!op->completed()) steps_.push_back([this, op] { return join(op, nullptr); });
  }
}

// The ttl is over and nobody renewed it here. If another process did, the key was written since.
asio::awaitable<void> queue_entry::expire() {
  if (state_ != state::held || clock::now() < expires_at_) co_return;
  std::string const body = remove_unchanged_request(key_, modified_);
  auto const outcome = co_await store_.connections->call(path::txn, body, step_deadline());
  auto const found = outcome.ok() ? txn_in(outcome.body) : std::nullopt;
  auto const lease = lease_;
  forget();
  if (found && found->succeeded) co_await revoke(lease);
  // Whoever renewed it elsewhere has put the key on another lease.
  if (!found) store_.leases->end(lease);
}

// A key that another made ends by itself, unless that one goes on with it.
asio::awaitable<void> queue_entry::leave() {
  auto const lease = adopted_ ? 0 : lease_;
  forget();
  co_await revoke(lease);
}

}  // namespace herdlock::etcd
