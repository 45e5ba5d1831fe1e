#include "stores/mysql/seat.hpp"

#include <errmsg.h>

namespace herdlock::mysql {
namespace {

// A place in the server's queue is given up and taken anew once in so long: a bound for a wait at a
// server that has vanished.
constexpr std::chrono::seconds wait_slice{30};
// So often in a row a lock changes hands inside of one store before the others get their turn.
constexpr int max_passes = 16;

bool waits(candidate const& who) { return who.request.wait > milliseconds{0}; }

clock::time_point wait_end(milliseconds wait) {
  return clock::now() + std::min(wait, limits::max_ttl);
}

}  // namespace

candidate::candidate(std::shared_ptr<engine> const& with, acquire_request asked,
                     stores::order<acquire_reply> what)
    : stores::operation<acquire_reply>(
          with->pending, std::move(what),
          wait_end(asked.wait) + with->how.timeout + with->how.session_grace),
      request(std::move(asked)),
      until(wait_end(request.wait)) {}

void candidate::on_completed() {
  if (auto const at = place.lock()) at->left(*this);
}

seat::seat(std::shared_ptr<hall> const& where, resource name)
    : hall_(where),
      name_(std::move(name)),
      executor_(where->with->pending->executor()),
      timer_(executor_),
      job_timer_(executor_) {}

bid seat::bid_for(candidate const& who, std::chrono::seconds wait) const {
  return {name_, who.request.owner, who.request.ttl, wait};
}

grant seat::grant_of(holder const& who) const {
  return {who.fencing, grant_term{who.since, who.ttl}};
}

acquire_reply seat::as_busy() const {
  if (!holder_) return busy{rival_.label, rival_.remaining};
  auto const rest = std::chrono::ceil<milliseconds>(holder_->expires - clock::now());
  return busy{std::string(holder_->owner.label()), std::max(rest, milliseconds{1})};
}

// Those who don't wait, and those who have waited long enough.
void seat::dismiss() {
  auto const now = clock::now();
  for (auto const& each : std::vector(waiting_)) {
    if (each->until <= now || !waits(*each)) each->complete(as_busy());
  }
}

void seat::ask(std::shared_ptr<candidate> const& who) {
  check();
  if (holder_ && !busy_ && expired()) expire();
  if (is_holder(who->request.owner)) return who->complete_later(acquire_reply(grant_of(*holder_)));
  if (!waits(*who) && (holder_ || queued_)) return who->complete_later(as_busy());
  who->place = weak_from_this();
  waiting_.push_back(who);
  arm();
  if (state_ == state::empty && !busy_) return seek(std::chrono::seconds{0});
  watch();
}

void seat::on_taken(bid const& wanted, answer got) {
  if (closed_) return;
  job_timer_.cancel();
  busy_ = false;
  queued_ = false;
  state_ = state::empty;
  bool const ended = slot_ && slot_->ended();
  slot_.reset();
  session_ = std::move(got.session);
  if (got.error) {
    // Ended because nobody waited: those who have come since begin anew.
    if (!ended || got.error->code == pool_is_full) fail_all(*got.error);
    seek(std::chrono::seconds{0});
  } else if (auto const* other = std::get_if<rival>(&got.taken)) {
    on_rival(*other);
  } else {
    state_ = state::held;
    passes_ = 0;
    auto const where = hall_.lock();
    bool const graceful = where && where->with->how.session_grace > milliseconds{0};
    if (graceful) {
      look_for_predecessor(wanted, std::get<fencing_token>(got.taken));
    } else {
      serve(wanted, got);
    }
  }
  next();
}

void seat::on_rival(rival other) {
  rival_ = std::move(other);
  if (auto const where = hall_.lock()) where->with->sessions.give_back(std::move(session_));
  session_.reset();
  // A handler that asks again does not keep those who wait from standing in line.
  if (std::ranges::any_of(waiting_, [](auto const& each) { return waits(*each); })) {
    state_ = state::seeking;
    queued_ = true;
  }
  dismiss();
  state_ = busy_ ? state_ : state::empty;
  queued_ = false;
  seek(wait_slice);
  arm();
}

// The lock is ours, written down for `given`. Whoever that was may have gone.
void seat::serve(bid const& given, answer const& got) {
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
  arm();
}

void seat::use_session() {
  busy_ = true;
  aborted_ = false;
  unwatch();
}

void seat::run(job todo, follow_up then) {
  auto const where = hall_.lock();
  if (!where) return;
  use_session();
  // A session that does not answer is closed, which frees the lock: a little before the caller's
  // own deadline, so that it is told of the loss and not of a delay.
  job_timer_.expires_after(where->with->how.timeout * 9 / 10);
  job_timer_.async_wait(
      [weak = weak_from_this(), session = session_](boost::system::error_code ec) {
        if (ec) return;
        session->abort();
        if (auto const self = weak.lock()) self->on_aborted();
      });
  where->with->jobs.add([where = where, self = shared_from_this(), session = session_,
                         todo = std::move(todo), then = std::move(then)]() mutable {
    answer got;
    got.since = clock::now();
    try {
      todo(*where->protocol, *session, got);
    } catch (sql_error const& error) {
      got.error = error;
    }
    got.at = clock::now();
    auto const executor = self->executor_;
    asio::post(executor, [where = std::move(where), self = std::move(self), then = std::move(then),
                          todo = std::move(todo), got = std::move(got)]() mutable {
      self->on_answer(std::move(got), then);
    });
  });
}

void seat::on_answer(answer got, follow_up const& then) {
  if (closed_) return;
  job_timer_.cancel();
  busy_ = false;
  if (aborted_ && !got.error) {
    got.error = sql_error{CR_SERVER_LOST, "the session did not answer in time and was ended"};
  }
  then(*this, std::move(got));
  next();
}

void seat::quick_run(std::string statements, std::function<bool(outcomes const&)> read,
                     follow_up then) {
  auto const where = hall_.lock();
  if (!where) return;
  use_session();
  run_handler done = [where, self = shared_from_this(), since = clock::now(),
                      read = std::move(read),
                      then = std::move(then)](outcomes const& all, std::optional<sql_error> error) {
    answer got;
    got.since = since;
    got.at = clock::now();
    got.error = std::move(error);
    try {
      if (!got.error) got.yes = read(all);
    } catch (sql_error const& unreadable) {
      got.error = unreadable;
    }
    self->on_answer(std::move(got), then);
  };
  connection::async_run(session_, executor_, std::move(statements),
                        clock::now() + where->with->how.timeout, std::move(done));
}

void seat::on_aborted() {
  aborted_ = true;
  if (auto const told = std::exchange(renewing_, nullptr)) told->complete(renew_reply::lost);
}

// What came while the session was in use.
void seat::next() {
  while (!busy_ && !todo_.empty()) {
    auto const first = std::move(todo_.front());
    todo_.pop_front();
    first();
  }
  if (!busy_ && expired()) expire();
  watch();
  tidy();
}

void seat::renew(std::shared_ptr<stores::operation<renew_reply>> const& op,
                 owner_token const& owner, milliseconds ttl) {
  if (busy_ && is_holder(owner)) {
    return todo_.push_back([this, op, owner, ttl] { renew(op, owner, ttl); });
  }
  if (!is_holder(owner) || expired()) {
    op->complete_later(renew_reply::lost);
    if (!busy_ && expired()) expire();
    return;
  }
  possession const mine{name_, holder_->fencing};
  renewing_ = op;
  run([mine, ttl](session_protocol& how, connection& session,
                  answer& got) { got.yes = how.renew(session, mine, ttl); },
      [op, ttl](seat& self, answer const& got) {
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

void seat::release(releasing const& op, owner_token const& owner) {
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
void seat::leave(releasing const& op) {
  if (!waiting_.empty() && passes_ < max_passes) return pass_on(op);
  possession const ours{name_, holder_->fencing};
  holder_.reset();
  auto const where = hall_.lock();
  if (!where) return;
  auto const opened = std::exchange(opened_, std::nullopt);
  if (!opened) return give_back(ours, op);
  // Behind a failure the row stays: the next waits, though it need not. So it does when the row is
  // not gone in a third of the time: the release has to be told of in the rest.
  auto const& how = where->with->how;
  run_beside(close_row_sql(how, {name_, *opened}), how.timeout / 3,
             [ours, op](seat& self, auto const&) { self.give_back(ours, op); });
}

void seat::give_back(possession const& ours, releasing const& op) {
  auto const where = hall_.lock();
  if (!where) return;
  quick_run(
      where->protocol->release_sql(*session_, ours),
      [raw = where.get()](outcomes const& all) { return raw->protocol->released(all); },
      [op](seat& self, answer const& got) { self.on_released(got, op); });
}

// Told last: a handler may ask for the lock again at once.
void seat::on_released(answer const& got, releasing const& op) {
  if (got.error) {
    lose();
  } else {
    if (auto const where = hall_.lock()) where->with->sessions.give_back(std::move(session_));
    vacate();
  }
  if (op) op->complete(got.yes ? release_reply::released : release_reply::lost);
}

void seat::pass_on(releasing const& op) {
  ++passes_;
  holder_.reset();
  auto const wanted = bid_for(*waiting_.front(), std::chrono::seconds{0});
  run([wanted](session_protocol& how, connection& session,
               answer& got) { got.taken = how.pass_on(session, wanted); },
      [op, wanted](seat& self, answer got) { self.on_passed(wanted, std::move(got), op); });
}

// A session that tells of an error has had the lock until then.
void seat::on_passed(bid const& given, answer got, releasing const& op) {
  bool const gone = got.error && got.error->ends_session();
  if (got.error) {
    lose();
  } else {
    serve(given, got);
  }
  if (op) op->complete(gone ? release_reply::lost : release_reply::released);
}

void seat::fail_all(sql_error const& why) {
  auto const where = hall_.lock();
  if (!where) return;
  for (auto const& each : std::vector(waiting_)) {
    each->complete(where->with->told_of(why, each->subject()));
  }
}

void seat::left(candidate const& who) {
  std::erase_if(waiting_, [&](auto const& each) { return each.get() == &who; });
  if (waiting_.empty() && queued_ && slot_) slot_->end();
}

// For the end of the lease, and for the first of the waits to end. Who does not wait is told by the
// outcome of what is under way.
void seat::arm() {
  auto first = clock::time_point::max();
  if (holder_) first = holder_->expires;
  for (auto const& each : waiting_) {
    if (waits(*each)) first = std::min(first, each->until);
  }
  if (first == clock::time_point::max() || first == armed_for_) return;
  armed_for_ = first;
  timer_.expires_at(first);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (!ec && self) self->on_timer();
  });
}

// While the lock is being asked for, given back or passed on, the outcome ends the waits.
void seat::on_timer() {
  armed_for_ = {};
  bool const undecided = !holder_ && !queued_;
  if (undecided) return;
  dismiss();
  if (!busy_ && expired()) return expire();
  if (!expired()) arm();
}

void seat::close() {
  closed_ = true;
  timer_.cancel();
  job_timer_.cancel();
  unwatch();
  todo_.clear();
  session_.reset();
  holder_.reset();
  state_ = state::empty;
}

void seat::tidy() {
  auto const where = hall_.lock();
  if (!where || state_ != state::empty || busy_ || !waiting_.empty()) return;
  timer_.cancel();
  where->seats.erase(name_.str());
}

}  // namespace herdlock::mysql
