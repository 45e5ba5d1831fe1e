// What a seat's search for the lock does on its worker thread.
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

// On a worker thread. Whoever wanted it may have gone while the server had us in its queue: it is
// told at once, since it would else find out when our turn comes.
seat::answer seat::take(hall& where, session_slot& slot, bid const& wanted) {
  first_use first = first_use::yes;
  int lost_connections = 0;
  auto const deadline = clock::now() + where.with->how.timeout;
  while (true) {
    answer got = take_once(where, slot, wanted);
    if (!got.error || slot.ended()) return got;
    // One that was idle may be ended by the server in the moment it is used.
    if (got.error->is_lost_connection() && ++lost_connections == 1) continue;
    auto why = repair(*where.with, *got.error, first, deadline);
    if (!why) continue;
    got.error = std::move(why);
    return got;
  }
}

seat::answer seat::take_once(hall& where, session_slot& slot, bid const& wanted) {
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
    session = with.sessions.borrow(clock::now());
    if (!slot.put(session)) throw sql_error{pool_is_closed, "nobody wants it any more"};
    got.since = clock::now();
    got.taken = where.protocol->take(*session, wanted);
    got.at = clock::now();
    slot.put(nullptr);
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
