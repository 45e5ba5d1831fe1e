// A seat's search for the lock: without a thread on a session that is open, else on one.
#include "stores/mysql/seat.hpp"

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

void seat::seek(std::chrono::seconds wait) {
  if (busy_ || state_ != state::empty) return;  // a handler that was just told has begun it
  auto const where = hall_.lock();
  if (!where || waiting_.empty()) return;
  state_ = state::seeking;
  queued_ = wait.count() > 0;
  slot_ = std::make_shared<session_slot>();
  auto wanted = bid_for(*waiting_.front(), wait);
  wanted.ttl += where->with->how.session_grace;  // it may have to be waited with the lock
  auto session = where->server_checked ? where->with->sessions.borrow_idle() : nullptr;
  if (session) return quick_seek(where, session, wanted);
  seek_on_a_thread(where, slot_, wanted, std::nullopt);
}

void seat::quick_seek(std::shared_ptr<hall> const& where,
                      std::shared_ptr<connection> const& session, bid const& wanted) {
  busy_ = true;
  slot_->put(session);
  auto const since = clock::now();
  auto const deadline = since + wanted.wait + where->with->how.timeout;
  quick_handler done = [where = where, self = shared_from_this(), slot = slot_, session, wanted,
                        since](quick_result made) {
    slot->put(nullptr);
    if (made.error && made.error->code == too_late) slot->end();
    if (!made.token) {
      return self->seek_on_a_thread(where, slot, wanted,
                                    attempt{session, since, std::move(made.error)});
    }
    answer got;
    got.taken = *made.token;
    got.since = since;
    got.at = clock::now();
    got.session = session;
    self->on_taken(wanted, std::move(got));
  };
  where->protocol->quick_take(session, wanted, deadline, std::move(done));
}

void seat::seek_on_a_thread(std::shared_ptr<hall> const& where,
                            std::shared_ptr<session_slot> const& slot, bid const& wanted,
                            std::optional<attempt> begun) {
  // Its caller sees only a time out if the server does not answer: so does the job, by its own.
  if (!queued_) {
    job_timer_.expires_after(where->with->how.timeout);
    job_timer_.async_wait([slot](boost::system::error_code ec) {
      if (!ec) slot->end();
    });
  }
  busy_ = where->with->jobs.add(
      [where = where, self = shared_from_this(), slot, wanted, begun = std::move(begun)]() mutable {
        answer got = take(*where, *slot, wanted, std::move(begun));
        auto const executor = self->executor_;
        asio::post(executor,
                   [where = std::move(where), self = std::move(self), wanted,
                    got = std::move(got)]() mutable { self->on_taken(wanted, std::move(got)); });
      });
}

// On a worker thread. Whoever wanted it may have gone while the server had us in its queue: it is
// told at once, since it would else find out when our turn comes.
seat::answer seat::take(hall& where, session_slot& slot, bid const& wanted,
                        std::optional<attempt> begun) {
  first_use first = first_use::yes;
  int lost_connections = 0;
  auto const deadline = clock::now() + where.with->how.timeout;
  while (true) {
    answer got = take_once(where, slot, wanted, std::exchange(begun, std::nullopt));
    if (!got.error || slot.ended()) return got;
    // One that was idle may be ended by the server in the moment it is used.
    if (got.error->is_lost_connection()) where.server_checked = false;
    if (got.error->is_lost_connection() && ++lost_connections == 1) continue;
    auto why = repair(*where.with, *got.error, first, deadline);
    if (!why) continue;
    got.error = std::move(why);
    return got;
  }
}

seat::answer seat::take_once(hall& where, session_slot& slot, bid const& wanted,
                             std::optional<attempt> begun) {
  answer got;
  std::shared_ptr<connection> session;
  engine& with = *where.with;
  try {
    if (!where.server_checked) {
      borrowed db(with.commands, clock::now() + with.how.timeout);
      where.protocol->check_server(*db);
      // Missed only when the lock is taken, the table would be made while a session that has just
      // been dropped keeps the next one out.
      (*db).run("SELECT 1 FROM `" + with.how.table + "` LIMIT 0");
      db.kept();
      where.server_checked = true;
    }
    session = begun ? begun->session : with.sessions.borrow(clock::now());
    if (begun && begun->error) throw *begun->error;
    if (!slot.put(session)) throw sql_error{pool_is_closed, "nobody wants it any more"};
    got.since = begun ? begun->since : clock::now();
    got.taken = begun ? where.protocol->take_rest(*session, wanted)
                      : where.protocol->take(*session, wanted);
    got.at = clock::now();
    if (!slot.put(nullptr)) throw sql_error{pool_is_closed, "nobody wants it any more"};
    got.session = std::move(session);
  } catch (sql_error const& error) {
    got.error = error;
    slot.put(nullptr);
    if (!session) return got;
    auto const id = session->id();
    with.sessions.drop(std::move(session));
    if (!slot.ended()) return got;
    try {
      borrowed db(with.commands, clock::now() + with.how.timeout);
      end_session(*db, id);
      db.kept();
    } catch (sql_error const&) {
      // Then the server finds out by itself, when it is our turn.
    }
  }
  return got;
}

}  // namespace herdlock::mysql
