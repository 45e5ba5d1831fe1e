#include "stores/etcd/queue_entry.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "stores/common/shared_timer.hpp"

namespace herdlock::etcd {
namespace {

constexpr int most_lease_losses = 3;

milliseconds span(clock::time_point from, clock::time_point to) {
  return std::chrono::duration_cast<milliseconds>(to - from);
}

bool anybody_waits(std::vector<std::shared_ptr<waiter>> const& waiters) {
  return std::ranges::any_of(waiters, [](auto const& op) { return !op->completed(); });
}

asio::awaitable<void> rest(timer& until) { co_await until.async_wait(no_throw); }

}  // namespace

queue_entry::queue_entry(store_state store, resource name, owner_token owner,
                         std::function<void()> tell_empty)
    : store_(std::move(store)),
      key_(store_.connections, store_.leases, std::move(name), std::move(owner)),
      before_(store_.watches, key_.name(), [this] { add([this] { return look(); }); }),
      unconfirmed_(store_.unconfirmed),
      tell_empty_(std::move(tell_empty)),
      timer_(store_.connections->executor()) {}

void queue_entry::acquire(std::shared_ptr<waiter> op) {
  op->queue = weak_from_this();
  auto turn = op->waits() ? store_.gate->take() : nullptr;
  add([this, op = std::move(op), turn = std::move(turn)] { return join(op, turn); });
}

void queue_entry::add(task what) {
  steps_.push_back(std::move(what));
  if (running_) return;
  running_ = true;
  asio::co_spawn(store_.connections->executor(), run(), asio::detached);
}

// Waiters that ended meanwhile need no entry.
asio::awaitable<void> queue_entry::run() {
  auto const self = shared_from_this();
  while (!steps_.empty()) {
    task next = std::move(steps_.front());
    steps_.pop_front();
    auto work = next();
    next = nullptr;  // the step alone has its turn now
    co_await std::move(work);
    std::erase_if(waiters_, [](auto const& op) { return op->completed(); });
    if (state_ == state::queued && waiters_.empty() && steps_.empty()) {
      steps_.push_back([this] { return leave(); });
    }
  }
  running_ = false;
  arm();
  if (state_ == state::none && !unconfirmed_.pending()) tell_empty();
}

void queue_entry::tell_empty() {
  unconfirmed_.confirm();
  if (auto const tell = std::exchange(tell_empty_, {})) tell();
}

void queue_entry::remember_release() {
  unconfirmed_.remember(expires_at_, [this, weak = weak_from_this()] {  // there are too many
    auto const self = weak.lock();
    if (!self) return;
    unconfirmed_.confirm();
    if (running_ || state_ != state::none) return;
    timer_.cancel();
    tell_empty();
  });
}

void queue_entry::on_left(waiter&) {
  bool const rests = state_ == state::queued && !running_;
  if (rests && !anybody_waits(waiters_)) add([this] { return leave(); });
}

void queue_entry::close() {
  closed_ = true;
  timer_.cancel();
  before_.close();
  if (state_ == state::queued && !running_) add([this] { return leave(); });
}

void queue_entry::arm() {
  bool const forgets = state_ == state::none && unconfirmed_.pending();
  if (closed_ || (state_ == state::none && !forgets)) {
    timer_.cancel();
    return;
  }
  auto next = state_ == state::held ? expires_at_ : key_.lease().keep_at;
  if (forgets) next = unconfirmed_.until();
  if (state_ == state::queued) {
    for (auto const& op : waiters_) next = std::min(next, op->until);
  }
  stores::run_at(timer_, next, weak_from_this(), [this](queue_entry&) {
    if (running_ || closed_) return;  // it is armed when the steps are done
    if (state_ == state::none) return tell_empty();
    if (state_ == state::held) add([this] { return expire(); });
    if (state_ == state::queued) add([this] { return tick(); });
  });
}

std::optional<milliseconds> queue_entry::remaining(std::string const& key) const {
  if (state_ != state::held || key != key_.name()) return std::nullopt;
  return std::max(span(clock::now(), expires_at_), milliseconds{1});
}

void queue_entry::hold(milliseconds ttl) {
  state_ = state::held;
  before_.stop(predecessor_watch::ends::held);
  unconfirmed_.confirm();
  ttl_ = ttl;
  expires_at_ = clock::now() + ttl;
}

// The lease was kept alive some time before the look that found us first, so what is left of it
// may be less than the ttl.
void queue_entry::take_turn(milliseconds ttl, clock::time_point sent) {
  hold(ttl);
  auto const left = span(sent, key_.lease().alive_until);
  auto const all = std::exchange(waiters_, {});
  for (auto const& op : all) grant_it(*op, key_.created(), sent, left);
}

void queue_entry::join_waiters() {
  auto const all = std::exchange(waiters_, {});
  for (auto const& op : all) {
    if (!op->completed()) steps_.push_back([this, op] { return join(op, nullptr); });
  }
}

// ------------------------------------------------------------------------------- joining

// The turn passes on when the step ends.
asio::awaitable<void> queue_entry::join(std::shared_ptr<waiter> op,
                                        std::shared_ptr<fifo_gate::ticket> turn) {
  std::uint64_t const number = turn ? turn->number() : 0;
  if (state_ == state::held) co_await answer_holder(op);
  if (state_ == state::held) co_return;
  if (state_ == state::queued) {  // asked once more by who waits
    if (op->completed()) co_return;
    waiters_.push_back(std::move(op));
    co_await look();
    co_return co_await answer_the_late();
  }
  bool answered = false;  // or to be answered later
  for (int i = 0; i < most_lease_losses && !answered && !op->completed() && !closed_; ++i) {
    answered = co_await try_to_join(op, number);
  }
  turn.reset();
  if (op->completed() && state_ == state::none) co_return co_await leave();
  if (op->completed() || answered) co_return;
  op->fail(make_failure(errc::unavailable,
                        "the lease ends again and again; are the "
                        "members' clocks or disks in order?"));
}

// Asked once more by who holds it. Without the key it is held no more, and the operation joins
// anew.
asio::awaitable<void> queue_entry::answer_holder(std::shared_ptr<waiter> op) {
  if (op->completed()) co_return;
  if (clock::now() >= expires_at_) co_return co_await expire();
  auto const sent = clock::now();
  auto const found = co_await key_.first_of_queue();
  if (!found.reply) co_return op->fail(found.why);
  auto const* first = found.reply->first();
  bool const there = first && first->key == key_.name() &&
                     first->create_revision == key_.created() && !from_value(first->value).left;
  if (there) {
    auto const end = std::min(expires_at_, key_.lease().alive_until);
    co_return grant_it(*op, key_.created(), sent, span(sent, end));
  }
  key_.end_lease();
  forget();
}

// False: the lease or the key ended in between; to be tried again.
asio::awaitable<bool> queue_entry::try_to_join(std::shared_ptr<waiter> op, std::uint64_t turn) {
  auto const sent = clock::now();
  auto const wanted = op->waits() ? owned_key::proof::of_lately : owned_key::proof::of_now;
  failure const why = co_await key_.take_lease(op->request.ttl, wanted);
  if (why.code) op->fail(why);
  if (op->completed()) co_return true;
  // The turn may take long to come.
  if (turn > 0) co_await store_.gate->wait_for(turn);
  if (op->completed()) co_return true;
  auto const how = op->waits() ? owned_key::joining::to_wait : owned_key::joining::if_free;
  auto found = co_await key_.put(how, op->request.ttl);
  if (lease_is_gone(found.refused)) co_return false;
  if (!found.reply) {
    op->fail(found.why);
    co_return true;
  }
  bool const entered = co_await enter(op, std::move(*found.reply), sent);
  co_return entered;
}

// We are first, or behind another. False: to be tried again.
asio::awaitable<bool> queue_entry::enter(std::shared_ptr<waiter> op, found_entries found,
                                         clock::time_point sent) {
  auto& own = found.own;
  bool const was_left = from_value(own.value).left;
  bool const is_ours = !was_left && found.before.key == key_.name();
  if (!is_ours && (!op->waits() || (was_left && clock::now() >= op->until))) {
    key_.give_lease_away();
    if (!op->completed()) {
      co_await answer_busy(store_.connections, op, std::move(found.before));
    }
    co_return true;
  }
  if (was_left) {
    wait_for_the_name(std::move(op));
    co_return true;
  }
  if (op->completed()) co_return true;
  if (own.lease != key_.lease().number) {
    failure why;
    auto const left = co_await key_.adopt(own, op->request.ttl, why);
    if (why.code) op->fail(why);
    if (!left && !op->completed()) co_return false;
    // Whoever made it holds it still, perhaps: it is not to be ended.
    if (op->completed() && left) forget();
    if (op->completed()) co_return true;
    if (is_ours) {
      auto const asked = from_value(own.value).ttl;
      key_.found_at(own.create_revision, own.mod_revision);
      hold(asked);
      // etcd tells whole seconds, rounded down: we end it no sooner than who made it.
      if (*left > milliseconds{0}) {
        expires_at_ = clock::now() + std::min(*left + milliseconds{1000}, asked);
      }
      grant_it(*op, own.create_revision, sent, *left);
      co_return true;
    }
  }
  // At once it is for the whole ttl.
  if (is_ours && key_.lease().alive_until < sent + op->request.ttl) {
    bool const alive = co_await key_.keep_alive();
    if (!alive) forget();
    if (!alive || op->completed()) co_return alive;
  }
  waiters_.push_back(op);
  key_.found_at(own.create_revision, own.mod_revision);
  if (is_ours) {
    take_turn(op->request.ttl, sent);
  } else {
    state_ = state::queued;
    before_.follow(found, weak_from_this());
  }
  co_return true;
}

// The owner left its key to another one, and asks anew for what that has. The name is taken until
// then, and with it the place in the queue: it tries again.
void queue_entry::wait_for_the_name(std::shared_ptr<waiter> op) {
  key_.give_lease_away();
  timer_.expires_at(std::min(clock::now() + pause_after_failure, op->until));
  waiters_.push_back(std::move(op));
  steps_.push_back([this] {
    join_waiters();
    return rest(timer_);
  });
}

// ------------------------------------------------------------------------------- waiting

asio::awaitable<void> queue_entry::look() {
  auto const told_at = before_.begin_look();
  if (state_ != state::queued || !anybody_waits(waiters_)) co_return;
  auto const now = clock::now();
  if (before_.says_first() && key_.surely_ours(now)) {
    co_return take_turn(waiters_.front()->request.ttl, now);
  }
  if (told_at > 0 && before_.seen(told_at)) co_return;
  // While the next watch begins to stand. If something happened in between, the look is repeated.
  before_.get_ready();
  auto const seen = co_await key_.look(told_at);
  switch (seen.what) {
    case sighting::kind::no_answer:
      if (clock::now() >= key_.lease().alive_until) join_again();
      co_return key_.keep_no_later_than(clock::now() + pause_after_failure);
    case sighting::kind::gone:
      co_return join_again();
    case sighting::kind::behind:
      co_return before_.follow(seen.found, weak_from_this());
    case sighting::kind::first:
      break;
  }
  if (!anybody_waits(waiters_)) co_return;
  // An answer that waited for us, not we for it: the key may have gone since.
  if (clock::now() >= key_.lease().alive_until) co_return join_again();
  bool const with_our_lease = seen.found.own.lease == key_.lease().number;
  if (!with_our_lease) {  // another handle of the owner goes on with the key
    key_.end_lease();
    co_return join_again();
  }
  take_turn(waiters_.front()->request.ttl, seen.sent);
}

// A time that was set has come: to keep the lease alive, or the end of somebody's wait.
asio::awaitable<void> queue_entry::tick() {
  if (state_ != state::queued) co_return;
  if (clock::now() >= key_.lease().keep_at) {
    bool const alive = co_await key_.keep_alive();
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
  auto const found = co_await key_.first_of_queue();
  key_entry first;
  if (found.reply && found.reply->first()) first = *found.reply->first();
  if (waiters_.empty()) co_await leave();
  for (auto const& op : late) co_await answer_busy(store_.connections, op, first);
}

// A key that another made ends by itself, unless that one goes on with it.
asio::awaitable<void> queue_entry::leave() {
  auto const lease = key_.adopted() ? 0 : key_.lease().number;
  forget();
  co_await key_.revoke(lease);
}

}  // namespace herdlock::etcd
