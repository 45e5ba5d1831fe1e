#include "stores/mysql/resource_queue.hpp"

#include <errmsg.h>

#include "stores/common/shared_timer.hpp"

namespace herdlock::mysql {
namespace {

// A wait at the server is given up and begun anew once in so long: a bound for a wait at a
// server that has vanished.
constexpr std::chrono::seconds wait_slice{30};
// So often in a row a lock changes hands inside of one store before the others get their turn.
constexpr int max_in_a_row = 16;

}  // namespace

resource_queue::resource_queue(session_state& shared, resource name)
    : shared_(shared),
      name_(std::move(name)),
      executor_(shared.pending->executor()),
      end_timer_(executor_),
      task_timer_(executor_) {}

lock_request resource_queue::request_for(waiter const& who, std::chrono::seconds wait) const {
  return {name_, who.request.owner, who.request.ttl, wait};
}

grant resource_queue::grant_of(holder const& who) const {
  return {who.fencing, grant_validity{who.since, who.ttl}};
}

acquire_reply resource_queue::as_busy() const {
  if (!holder_) return busy{elsewhere_.label, elsewhere_.remaining};
  auto const rest = std::chrono::ceil<milliseconds>(holder_->expires - clock::now());
  return busy{std::string(holder_->owner.label()), std::max(rest, milliseconds{1})};
}

// Those who don't wait, and those who have waited long enough.
void resource_queue::dismiss() {
  auto const now = clock::now();
  for (auto const& each : std::vector(waiting_)) {
    if (each->until <= now || !each->waits()) each->complete(as_busy());
  }
}

void resource_queue::ask(std::shared_ptr<waiter> const& who) {
  check();
  if (holder_ && !busy_ && expired()) expire();
  if (is_holder(who->request.owner)) return who->complete_later(acquire_reply(grant_of(*holder_)));
  if (!who->waits() && (holder_ || queued_)) return who->complete_later(as_busy());
  who->queue = weak_from_this();
  waiting_.push_back(who);
  // While the lock is being asked for, given back or handed over, the outcome ends the waits.
  who->at_the_end([weak = weak_from_this()] {
    auto const self = weak.lock();
    if (self && (self->holder_ || self->queued_)) self->dismiss();
  });
  if (state_ == state::empty && !busy_) return seek(std::chrono::seconds{0});
  watch();
}

void resource_queue::seek(std::chrono::seconds wait) {
  if (busy_ || state_ != state::empty) return;  // a handler that was just told has begun it
  if (waiting_.empty()) return;
  state_ = state::seeking;
  queued_ = wait.count() > 0;
  auto wanted = request_for(*waiting_.front(), wait);
  wanted.ttl += shared_.how.session_grace;  // it may have to be waited with the lock
  search_ = std::make_shared<lock_search>(shared_.keep(), wanted);
  busy_ = true;
  auto find = [search = search_, weak = weak_from_this(), wanted]() -> awaitable<void> {
    auto got = co_await search->run();
    if (auto const self = weak.lock()) self->on_taken(wanted, std::move(got));
  };
  asio::co_spawn(executor_, std::move(find), asio::detached);
}

void resource_queue::on_taken(lock_request const& wanted, answer got) {
  if (closed_) return;
  busy_ = false;
  queued_ = false;
  state_ = state::empty;
  bool const ended = search_ && search_->ended();
  search_.reset();
  session_ = std::move(got.session);
  if (got.error) {
    // Ended because nobody waited: those who have come since begin anew.
    if (!ended || got.error->code == pool_is_full) fail_all(*got.error);
    seek(std::chrono::seconds{0});
  } else if (auto const* other = std::get_if<holder_info>(&got.taken)) {
    on_busy(*other);
  } else {
    state_ = state::held;
    in_a_row_ = 0;
    if (shared_.how.session_grace > milliseconds{0}) {
      look_for_predecessor(wanted, std::get<fencing_token>(got.taken));
    } else {
      serve(wanted, got);
    }
  }
  next();
}

void resource_queue::on_busy(holder_info other) {
  elsewhere_ = std::move(other);
  shared_.sessions.give_back(std::move(session_));
  // A handler that asks again does not keep those who wait from standing in line.
  if (std::ranges::any_of(waiting_, [](auto const& each) { return each->waits(); })) {
    state_ = state::seeking;
    queued_ = true;
  }
  dismiss();
  state_ = busy_ ? state_ : state::empty;
  queued_ = false;
  seek(wait_slice);
}

// The lock is ours, written down for `given`. Whoever that was may have gone.
void resource_queue::serve(lock_request const& given, answer const& got) {
  auto const* fencing = std::get_if<fencing_token>(&got.taken);
  // No later than at the server, but for a grant that was waited for.
  auto const begun = given.wait.count() == 0 ? got.since : got.at;
  holder_ = holder{given.owner, given.ttl, *fencing, got.since, begun + given.ttl};
  auto const found = std::find_if(waiting_.begin(), waiting_.end(), [&](auto const& each) {
    return each->request.owner == given.owner;
  });
  if (found == waiting_.end()) return leave(nullptr);
  // One who has asked twice gets the same grant twice. A handler may release at once, so nothing
  // of the holder is looked at behind it.
  auto const reply = grant_of(*holder_);
  arm();
  auto const self = shared_from_this();
  for (auto const& each : std::vector(waiting_)) {
    if (each->request.owner == given.owner) each->complete(acquire_reply(reply));
  }
  if (holder_) dismiss();
}

void resource_queue::use_session() {
  busy_ = true;
  aborted_ = false;
  unwatch();
}

void resource_queue::run(task todo, follow_up then, int tenths_of_timeout) {
  use_session();
  session_->set_deadline(clock::time_point::max());  // the timer ends it
  auto perform = [shared = shared_.keep(), self = shared_from_this(), session = session_,
                  todo = std::move(todo), then = std::move(then)]() -> awaitable<void> {
    answer got;
    got.since = clock::now();
    try {
      co_await todo(*shared->protocol, *session, got);
    } catch (sql_error const& error) {
      got.error = error;
    }
    got.at = clock::now();
    self->on_answer(std::move(got), then);
  };
  asio::co_spawn(executor_, std::move(perform), asio::detached);
  if (!busy_) return;  // it could not even be sent
  // A session that does not answer is closed, which frees the lock: a little before the caller's
  // own deadline, so that it is told of the loss and not of a delay. Armed behind the sending.
  auto const longest = shared_.how.timeout * tenths_of_timeout / 10;
  auto on_late = [session = session_](resource_queue& self) {
    // One that was on its way already is of a task that was answered in time.
    if (self.task_timer_.expiry() > clock::now()) return;
    if (session) session->abort();
    self.aborted_ = true;
    if (auto const told = std::exchange(self.renewing_, nullptr)) told->complete(renew_reply::lost);
  };
  stores::run_after(task_timer_, longest, weak_from_this(), std::move(on_late));
}

void resource_queue::on_answer(answer got, follow_up const& then) {
  if (closed_) return;
  task_timer_.expires_at(clock::time_point::max());
  busy_ = false;
  if (aborted_ && !got.error) {
    got.error = sql_error{CR_SERVER_LOST, "the session did not answer in time and was ended"};
  }
  then(*this, std::move(got));
  next();
}

// False: the session has it no more, or the lease had run out.
void resource_queue::prolong(held_lock const& mine, milliseconds ttl, follow_up then) {
  run(
      [mine, ttl](session_protocol& how, connection& session, answer& got) -> awaitable<void> {
        got.yes = co_await how.renew(session, mine, ttl);
      },
      std::move(then));
}

// What came while the session was in use.
void resource_queue::next() {
  while (!busy_ && !todo_.empty()) {
    auto const first = std::move(todo_.front());
    todo_.pop_front();
    first();
  }
  if (!busy_ && expired()) expire();
  watch();
  tidy();
}

void resource_queue::renew(std::shared_ptr<stores::operation<renew_reply>> const& op,
                           owner_token const& owner, milliseconds ttl) {
  if (busy_ && is_holder(owner)) {
    return todo_.push_back([this, op, owner, ttl] { renew(op, owner, ttl); });
  }
  if (!is_holder(owner) || expired()) {
    op->complete_later(renew_reply::lost);
    if (!busy_ && expired()) expire();
    return;
  }
  held_lock const mine{name_, holder_->fencing};
  renewing_ = op;
  prolong(mine, ttl, [op, ttl](resource_queue& self, answer const& got) {
    self.renewing_ = nullptr;
    if (got.error || !got.yes) {
      self.lose();
      return op->complete(renew_reply::lost);
    }
    self.holder_->ttl = ttl;
    self.holder_->since = got.since;
    self.holder_->expires = got.since + ttl;
    self.arm();
    op->complete(renew_reply::renewed);
  });
}

void resource_queue::release(releasing const& op, owner_token const& owner) {
  if (busy_ && is_holder(owner)) {
    return todo_.push_back([this, op, owner] { release(op, owner); });
  }
  if (!is_holder(owner)) return op->complete_later(release_reply::lost);
  if (expired()) {
    op->complete_later(release_reply::lost);
    return leave(nullptr);
  }
  leave(op);
}

// The holder goes, `op` being told, if there is one.
void resource_queue::leave(releasing const& op) {
  if (!waiting_.empty() && in_a_row_ < max_in_a_row) return hand_over(op);
  held_lock const ours{name_, holder_->fencing};
  holder_.reset();
  auto const opened = std::exchange(opened_, std::nullopt);
  if (!opened) return give_back(ours, op);
  // Behind a failure the row stays: the next waits, though it need not. So it does when the row is
  // not gone in a third of the time: the release has to be told of in the rest.
  auto const& how = shared_.how;
  run_beside(close_row_sql(how, {name_, *opened}), how.timeout / 3,
             [ours, op](resource_queue& self, auto const&) { self.give_back(ours, op); });
}

void resource_queue::give_back(held_lock const& ours, releasing const& op) {
  run([ours](session_protocol& how, connection& session,
             answer& got) -> awaitable<void> { got.yes = co_await how.release(session, ours); },
      [op](resource_queue& self, answer const& got) { self.on_released(got, op); }, 10);
}

// Told last: a handler may ask for the lock again at once.
void resource_queue::on_released(answer const& got, releasing const& op) {
  if (got.error) {
    lose();
  } else {
    shared_.sessions.give_back(std::move(session_));
    vacate();
  }
  if (op) op->complete(got.yes ? release_reply::released : release_reply::lost);
}

void resource_queue::hand_over(releasing const& op) {
  ++in_a_row_;
  holder_.reset();
  auto const wanted = request_for(*waiting_.front(), std::chrono::seconds{0});
  run(
      [wanted](session_protocol& how, connection& session, answer& got) -> awaitable<void> {
        got.taken = co_await how.hand_over(session, wanted);
      },
      [op, wanted](resource_queue& self, answer got) {
        self.on_handed_over(wanted, std::move(got), op);
      });
}

// A session that tells of an error has had the lock until then.
void resource_queue::on_handed_over(lock_request const& given, answer got, releasing const& op) {
  bool const gone = got.error && got.error->ends_session();
  if (got.error) {
    lose();
  } else {
    serve(given, got);
  }
  if (op) op->complete(gone ? release_reply::lost : release_reply::released);
}

void resource_queue::fail_all(sql_error const& why) {
  for (auto const& each : std::vector(waiting_)) {
    each->complete(shared_.to_failure(why, each->subject()));
  }
}

void resource_queue::on_left(waiter& who) {
  std::erase_if(waiting_, [&](auto const& each) { return each.get() == &who; });
  if (waiting_.empty() && queued_ && search_) search_->end();
}

// For the end of the lease. What uses the session meanwhile looks at it behind itself.
void resource_queue::arm() {
  stores::run_at(end_timer_, holder_->expires, weak_from_this(), [](resource_queue& self) {
    if (!self.busy_ && self.expired()) self.expire();
  });
}

void resource_queue::close() {
  closed_ = true;
  if (search_) search_->close();
  end_timer_.cancel();
  task_timer_.cancel();
  unwatch();
  todo_.clear();
  session_.reset();
  holder_.reset();
  state_ = state::empty;
}

void resource_queue::tidy() {
  if (closed_ || state_ != state::empty || busy_ || !waiting_.empty()) return;
  end_timer_.cancel();
  shared_.queues.erase(name_.str());
}

// The session is gone, or not to be trusted: closed, it frees at the server what it may still hold.
void resource_queue::lose() {
  unwatch();
  if (holder_) {
    shared_.ends.tell(name_, holder_->owner, "its session in the server has ended");
  }
  // The next one may be on another server.
  shared_.server_checked = false;
  if (session_) shared_.sessions.drop(std::move(session_));
  vacate();
}

void resource_queue::vacate() {
  unwatch();
  session_.reset();
  opened_.reset();
  holder_.reset();
  state_ = state::empty;
  elsewhere_ = {};
  seek(std::chrono::seconds{0});
}

void resource_queue::check() {
  if (state_ == state::held && !busy_ && !session_->is_alive()) lose();
}

// The server may give the lock to another at once, so it is noticed by itself, at any time.
void resource_queue::watch() {
  if (state_ != state::held || busy_ || watching_) return;
  watching_ = session_->watch(executor_, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->watching_ = false;
    self->check();  // lost if there is anything to read
    self->watch();
  });
}

void resource_queue::unwatch() {
  if (std::exchange(watching_, false) && session_) session_->unwatch();
}

}  // namespace herdlock::mysql
