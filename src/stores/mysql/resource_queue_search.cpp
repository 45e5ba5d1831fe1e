// A queue's search for the lock: without a thread on a session that is open, else on one.
#include "stores/mysql/resource_queue.hpp"

namespace herdlock::mysql {

bool session_slot::put(std::shared_ptr<connection> one) {
  std::lock_guard alone(mutex_);
  one_ = std::move(one);
  return !ended_;
}

void session_slot::end() {
  std::lock_guard alone(mutex_);
  ended_ = true;
  if (one_) one_->abort();
}

bool session_slot::ended() const {
  std::lock_guard alone(mutex_);
  return ended_;
}

void resource_queue::seek(std::chrono::seconds wait) {
  if (busy_ || state_ != state::empty) return;  // a handler that was just told has begun it
  auto const shared = shared_.lock();
  if (!shared || waiting_.empty()) return;
  state_ = state::seeking;
  queued_ = wait.count() > 0;
  slot_ = std::make_shared<session_slot>();
  auto wanted = request_for(*waiting_.front(), wait);
  wanted.ttl += shared->how.session_grace;  // it may have to be waited with the lock
  auto session = shared->server_checked ? shared->sessions.borrow_idle() : nullptr;
  if (session) return quick_seek(shared, session, wanted);
  seek_on_a_thread(shared, slot_, wanted, std::nullopt);
}

void resource_queue::quick_seek(std::shared_ptr<session_state> const& shared,
                                std::shared_ptr<connection> const& session,
                                lock_request const& wanted) {
  busy_ = true;
  slot_->put(session);
  auto const since = clock::now();
  auto const deadline = since + wanted.wait + shared->how.timeout;
  quick_handler done = [shared = shared, self = shared_from_this(), slot = slot_, session, wanted,
                        since](quick_result made) {
    slot->put(nullptr);
    if (made.error && made.error->code == too_late) slot->end();
    if (!made.token) {
      return self->seek_on_a_thread(shared, slot, wanted,
                                    attempt{session, since, std::move(made.error)});
    }
    answer got;
    got.taken = *made.token;
    got.since = since;
    got.at = clock::now();
    got.session = session;
    self->on_taken(wanted, std::move(got));
  };
  shared->protocol->quick_take(session, wanted, deadline, std::move(done));
}

void resource_queue::seek_on_a_thread(std::shared_ptr<session_state> const& shared,
                                      std::shared_ptr<session_slot> const& slot,
                                      lock_request const& wanted, std::optional<attempt> begun) {
  // Its caller sees only a time out if the server does not answer: so does the task, by its own.
  if (!queued_) {
    task_timer_.expires_after(shared->how.timeout);
    task_timer_.async_wait([slot](boost::system::error_code ec) {
      if (!ec) slot->end();
    });
  }
  busy_ = shared->tasks.add([shared = shared, self = shared_from_this(), slot, wanted,
                             begun = std::move(begun)]() mutable {
    answer got = take(*shared, *slot, wanted, std::move(begun));
    auto const executor = self->executor_;
    asio::post(executor,
               [shared = std::move(shared), self = std::move(self), wanted,
                got = std::move(got)]() mutable { self->on_taken(wanted, std::move(got)); });
  });
}

// On a worker thread. Whoever wanted it may have gone while the server had us in its queue: it is
// told at once, since it would else find out when our turn comes.
resource_queue::answer resource_queue::take(session_state& shared, session_slot& slot,
                                            lock_request const& wanted,
                                            std::optional<attempt> begun) {
  first_use first = first_use::yes;
  int lost_connections = 0;
  auto const deadline = clock::now() + shared.how.timeout;
  while (true) {
    answer got = take_once(shared, slot, wanted, std::exchange(begun, std::nullopt));
    if (!got.error || slot.ended()) return got;
    // One that was idle may be ended by the server in the moment it is used.
    if (got.error->is_lost_connection()) shared.server_checked = false;
    if (got.error->is_lost_connection() && ++lost_connections == 1) continue;
    auto why = repair(shared, *got.error, first, deadline);
    if (!why) continue;
    got.error = std::move(why);
    return got;
  }
}

resource_queue::answer resource_queue::take_once(session_state& shared, session_slot& slot,
                                                 lock_request const& wanted,
                                                 std::optional<attempt> begun) {
  answer got;
  std::shared_ptr<connection> session;
  try {
    if (!shared.server_checked) {
      borrowed db(shared.commands, clock::now() + shared.how.timeout);
      shared.protocol->check_server(*db);
      // Missed only when the lock is taken, the table would be made while a session that has just
      // been dropped keeps the next one out.
      (*db).run("SELECT 1 FROM `" + shared.how.table + "` LIMIT 0");
      db.kept();
      shared.server_checked = true;
    }
    session = begun ? begun->session : shared.sessions.borrow(clock::now());
    if (begun && begun->error) throw *begun->error;
    if (!slot.put(session)) throw sql_error{pool_is_closed, "nobody wants it any more"};
    got.since = begun ? begun->since : clock::now();
    got.taken = begun ? shared.protocol->take_rest(*session, wanted)
                      : shared.protocol->take(*session, wanted);
    got.at = clock::now();
    if (!slot.put(nullptr)) throw sql_error{pool_is_closed, "nobody wants it any more"};
    got.session = std::move(session);
  } catch (sql_error const& error) {
    got.error = error;
    slot.put(nullptr);
    if (!session) return got;
    auto const id = session->id();
    shared.sessions.drop(std::move(session));
    if (!slot.ended()) return got;
    try {
      borrowed db(shared.commands, clock::now() + shared.how.timeout);
      end_session(*db, id);
      db.kept();
    } catch (sql_error const&) {
      // Then the server finds out by itself, when it is our turn.
    }
  }
  return got;
}

}  // namespace herdlock::mysql
