#include "stores/mysql/lock_search.hpp"

namespace herdlock::mysql {

void lock_search::begin() {
  auto const session = state_->server_checked ? state_->sessions.borrow_idle() : nullptr;
  if (!session) return ask_on_a_thread(std::nullopt);
  ask_here(session);
}

void lock_search::end() {
  std::lock_guard alone(mutex_);
  ended_ = true;
  if (in_use_) in_use_->abort();
}

bool lock_search::ended() const {
  std::lock_guard alone(mutex_);
  return ended_;
}

// False when it was ended before.
bool lock_search::use(std::shared_ptr<connection> one) {
  std::lock_guard alone(mutex_);
  in_use_ = std::move(one);
  return !ended_;
}

void lock_search::ask_here(std::shared_ptr<connection> const& session) {
  use(session);
  auto const since = clock::now();
  auto const deadline = since + wanted.wait + state_->how.timeout;
  quick_handler done = [self = shared_from_this(), session, since](quick_result made) {
    self->use(nullptr);
    if (made.error && made.error->code == too_late) self->end();
    if (!made.token) {
      return self->ask_on_a_thread(attempt{session, since, std::move(made.error)});
    }
    session_answer got;
    got.taken = *made.token;
    got.since = since;
    got.at = clock::now();
    got.session = session;
    self->finish(std::move(got));
  };
  state_->protocol->quick_take(session, wanted, deadline, std::move(done));
}

void lock_search::ask_on_a_thread(std::optional<attempt> begun) {
  // Its caller sees only a time out if the server does not answer: so does the task, by its own.
  if (wanted.wait.count() == 0) {
    timer_.expires_after(state_->how.timeout);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
      auto const self = weak.lock();
      if (!ec && self) self->end();
    });
  }
  state_->tasks.add([self = shared_from_this(), begun = std::move(begun)]() mutable {
    auto got = self->take(std::move(begun));
    auto const executor = self->state_->pending->executor();
    asio::post(executor, [self = std::move(self), got = std::move(got)]() mutable {
      self->finish(std::move(got));
    });
  });
}

void lock_search::finish(session_answer got) {
  timer_.cancel();
  std::exchange(done_, nullptr)(std::move(got));
}

// On a worker thread. Whoever wanted it may have gone while the server had us in its queue: it is
// told at once, since it would else find out when our turn comes.
session_answer lock_search::take(std::optional<attempt> begun) {
  first_use first = first_use::yes;
  int lost_connections = 0;
  auto const deadline = clock::now() + state_->how.timeout;
  while (true) {
    auto got = take_once(std::exchange(begun, std::nullopt));
    if (!got.error || ended()) return got;
    // One that was idle may be ended by the server in the moment it is used.
    if (got.error->is_lost_connection()) state_->server_checked = false;
    if (got.error->is_lost_connection() && ++lost_connections == 1) continue;
    auto why = repair(*state_, *got.error, first, deadline);
    if (!why) continue;
    got.error = std::move(why);
    return got;
  }
}

session_answer lock_search::take_once(std::optional<attempt> begun) {
  session_answer got;
  std::shared_ptr<connection> session;
  try {
    if (!state_->server_checked) check_server();
    session = begun ? begun->session : state_->sessions.borrow(clock::now());
    if (begun && begun->error) throw *begun->error;
    if (!use(session)) throw sql_error{pool_is_closed, "nobody wants it any more"};
    got.since = begun ? begun->since : clock::now();
    got.taken = begun ? state_->protocol->take_rest(*session, wanted)
                      : state_->protocol->take(*session, wanted);
    got.at = clock::now();
    if (!use(nullptr)) throw sql_error{pool_is_closed, "nobody wants it any more"};
    got.session = std::move(session);
  } catch (sql_error const& error) {
    got.error = error;
    use(nullptr);
    if (session) end_at_server(std::move(session));
  }
  return got;
}

void lock_search::check_server() {
  borrowed db(state_->commands, clock::now() + state_->how.timeout);
  state_->protocol->check_server(*db);
  // Missed only when the lock is taken, the table would be made while a session that has just been
  // dropped keeps the next one out.
  (*db).run("SELECT 1 FROM `" + state_->how.table + "` LIMIT 0");
  db.kept();
  state_->server_checked = true;
}

void lock_search::end_at_server(std::shared_ptr<connection> session) {
  auto const id = session->id();
  state_->sessions.drop(std::move(session));
  if (!ended()) return;
  try {
    borrowed db(state_->commands, clock::now() + state_->how.timeout);
    end_session(*db, id);
    db.kept();
  } catch (sql_error const&) {
    // Then the server finds out by itself, when it is our turn.
  }
}

}  // namespace herdlock::mysql
