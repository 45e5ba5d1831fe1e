#include "stores/mysql/lock_search.hpp"

#include "stores/common/shared_timer.hpp"

namespace herdlock::mysql {

void lock_search::end() {
  ended_ = true;
  if (in_use_) in_use_->abort();
}

// Whoever wanted it may have gone while the server had us in its queue: it is told at once, since
// it would else find out when our turn comes.
awaitable<session_answer> lock_search::run() {
  first_use first = first_use::yes;
  int lost_connections = 0;
  auto const deadline = clock::now() + state_->how.timeout;
  while (true) {
    auto got = co_await take_once();
    if (!got.error || ended_) co_return got;
    // One that was idle may be ended by the server in the moment it is used.
    if (got.error->is_lost_connection()) state_->server_checked = false;
    if (got.error->is_lost_connection() && ++lost_connections == 1) continue;
    auto why = co_await repair(*state_, *got.error, first, deadline);
    if (!why) continue;
    got.error = std::move(why);
    co_return got;
  }
}

awaitable<session_answer> lock_search::take_once() {
  session_answer got;
  std::shared_ptr<connection> session;
  try {
    if (!state_->server_checked) co_await check_server();
    session = co_await state_->sessions.borrow(clock::now());
    co_await use(session, got);
    got.session = session;
  } catch (sql_error const& error) {
    got.error = error;
  }
  timer_.expires_at(clock::time_point::max());
  in_use_ = nullptr;
  if (got.error && session) co_await end_at_server(std::move(session));
  co_return got;
}

awaitable<void> lock_search::use(std::shared_ptr<connection> session, session_answer& got) {
  sql_error const unwanted{pool_is_closed, "nobody wants it any more"};
  if (ended_) throw unwanted;
  in_use_ = session;
  session->set_deadline(clock::time_point::max());  // the timer ends it
  end_when_late();
  got.since = clock::now();
  got.taken = co_await state_->protocol->take(*session, wanted_);
  got.at = clock::now();
  if (ended_) throw unwanted;
}

// Its callers see only a time out if the server does not answer.
void lock_search::end_when_late() {
  auto const longest = wanted_.wait + state_->how.timeout;
  stores::run_after(timer_, longest, weak_from_this(), [](lock_search& self) {
    if (self.in_use_ && self.timer_.expiry() <= clock::now()) self.end();
  });
}

awaitable<void> lock_search::check_server() {
  borrowed db(state_->commands,
              co_await state_->commands.borrow(clock::now() + state_->how.timeout));
  co_await state_->protocol->check_server(*db);
  // Missed only when the lock is taken, the table would be made while a session that has just been
  // dropped keeps the next one out.
  co_await (*db).ask("SELECT 1 FROM `" + state_->how.table + "` LIMIT 0");
  db.kept();
  state_->server_checked = true;
}

awaitable<void> lock_search::end_at_server(std::shared_ptr<connection> session) {
  auto const id = session->id();
  state_->sessions.drop(std::move(session));
  if (!ended_) co_return;
  try {
    borrowed db(state_->commands,
                co_await state_->commands.borrow(clock::now() + state_->how.timeout));
    co_await end_session(*db, id);
    db.kept();
  } catch (sql_error const&) {
    // Then the server finds out by itself, when it is our turn.
  }
}

}  // namespace herdlock::mysql
