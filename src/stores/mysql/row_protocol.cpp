#include "stores/mysql/session_protocol.hpp"

namespace herdlock::mysql {
namespace {

// The lock is the transaction's on a row of `<table>_lock`, which lives for ever. A lock wait that
// times out rolls back the statement or, with innodb_rollback_on_timeout, the transaction: both are
// the same here, since we roll back ourselves in either case and the wait was its first statement.
class row_protocol final : public session_protocol {
 public:
  explicit row_protocol(store_state& state) : state_(state) {}

  awaitable<lock_result> take(connection& session, lock_request const& wanted) override {
    while (true) {
      auto const locked = co_await lock_row(session, wanted);
      if (!locked) co_return co_await holder_of(wanted.name);
      if (*locked) co_return co_await record(session, wanted);
      co_await session.ask("ROLLBACK; INSERT IGNORE INTO " + locks() + " VALUES (" +
                           literal(wanted.name.str()) + "); COMMIT");
    }
  }

  awaitable<fencing_token> hand_over(connection& session, lock_request const& next) override {
    co_await set_idle_timeout(session, next.ttl);
    if (!session.in_transaction()) throw sql_error{bad_reply, "the transaction has ended"};
    try {
      co_return co_await record(session, next);
    } catch (sql_error const& error) {
      if (error.ends_session()) throw sql_error{not_written, error.text};
      throw;
    }
  }

  awaitable<bool> renew(connection& session, held_lock const& what, milliseconds ttl) override {
    co_await set_idle_timeout(session, ttl);
    if (!session.in_transaction()) co_return false;
    auto const done = co_await elsewhere(renew_sql(how(), what, ttl));
    co_return done.at(0).matched > 0;
  }

  // Both in one transaction: whoever gets the row next finds it cleared.
  awaitable<bool> release(connection& session, held_lock const& what) override {
    if (!session.in_transaction()) {
      co_await session.ask("ROLLBACK");
      co_return false;
    }
    auto const done = co_await session.ask(clear_sql(how(), what) + "; COMMIT");
    co_return done.at(0).matched > 0;
  }

  // A holder that died leaves its row behind: only the lock itself tells. Nobody is kept from it by
  // the question unless the row says that it is held, and then somebody else has it, as a rule.
  awaitable<std::optional<lease_info>> inspect(connection& db, resource const& name) override {
    auto const found = co_await holder_row(db, name);
    if (!found) co_return std::nullopt;
    co_return as_lease_info(*found);
  }

  awaitable<bool> force_release(connection& db, resource const& name,
                                clock::time_point deadline) override {
    auto const found = co_await holder_row(db, name);
    if (!found) co_return false;
    co_await end_session(db, found->session);
    held_lock const theirs{name, found->fencing};
    co_await db.ask(clear_sql(how(), theirs));
    while (co_await session_lives(db, found->session)) {
      if (clock::now() >= deadline) throw sql_error{bad_reply, "its session does not end"};
      co_await pause(milliseconds{1});
    }
    co_return true;
  }

  awaitable<void> check_server(connection& db) override {
    return refuse_cluster(db, "mode=row (FOR UPDATE)");
  }

 private:
  settings const& how() const { return state_.how; }
  std::string locks() const { return "`" + how().table + "_lock`"; }
  std::string row_of(resource const& name) const {
    return "SELECT 1 FROM " + locks() +
           " FORCE INDEX (PRIMARY) WHERE resource = " + literal(name.str());
  }

  static awaitable<void> set_idle_timeout(connection& session, milliseconds ttl) {
    co_await session.ask(idle_timeout_sql(ttl));
    keep_idle_timeout(session, ttl);
  }

  // Nothing: somebody else has it. False: there is no such row yet.
  awaitable<std::optional<bool>> lock_row(connection& session, lock_request const& wanted) {
    try {
      auto const done = co_await session.ask(lock_sql(session, wanted));
      keep_idle_timeout(session, wanted.ttl);
      co_return !done.last().rows.empty();
    } catch (sql_error const& error) {
      if (!error.is_locked()) throw;
    }
    session.idle_timeout_s = -1;  // stopped half-way: what it has now is not known
    co_await session.ask("ROLLBACK");
    co_return std::nullopt;
  }

  // The sessions are without autocommit, so that the statement begins the transaction by itself.
  std::string lock_sql(connection const& session, lock_request const& wanted) const {
    bool const waits = wanted.wait.count() > 0;
    std::string const new_session =
        session.idle_timeout_s == 0 ? "SET SESSION autocommit = 0; " : "";
    std::string const patience =
        waits
            ? "SET SESSION innodb_lock_wait_timeout = " + std::to_string(wanted.wait.count()) + "; "
            : "";
    return new_session + new_idle_timeout_sql(session, wanted.ttl) + patience +
           row_of(wanted.name) + " FOR UPDATE" + (waits ? "" : " NOWAIT");
  }

  // On another connection, by autocommit: the token outlives a holder that dies.
  // Why: docs/stores/mysql.md#a-sessions-lock-has-a-token
  awaitable<fencing_token> record(connection& session, lock_request const& taken) {
    std::string const id = std::to_string(session.id());
    auto const again = co_await elsewhere(record_again_sql(how(), taken, id, "1 = 1"));
    if (again.last().matched > 0) co_return fencing_token{again.last().given};
    auto const done = co_await elsewhere(record_sql(how(), taken, id, "1 = 1") + "; " +
                                         read_sql(how().table, taken.name));
    auto const found = as_lease_row(done.at(1));
    if (found && found->session == session.id()) co_return found->fencing;
    throw sql_error{bad_reply, "the row of the lease is missing"};
  }

  awaitable<holder_info> holder_of(resource const& name) {
    auto const done = co_await elsewhere(read_sql(how().table, name));
    auto const found = as_lease_row(done.at(0));
    if (!found || !found->held()) co_return holder_info{};
    co_return holder_info{owner_label(found->owner), found->remaining()};
  }

  // Of one who has the lock.
  awaitable<std::optional<lease_row>> holder_row(connection& db, resource const& name) const {
    auto const told = co_await db.ask(read_sql(how().table, name));
    auto found = as_lease_row(told.at(0));
    if (!found || !found->held()) co_return std::nullopt;
    bool const locked = co_await is_locked(db, name);
    if (!locked) found.reset();
    co_return found;
  }

  awaitable<bool> is_locked(connection& db, resource const& name) const {
    try {
      co_await db.ask("START TRANSACTION; " + row_of(name) + " FOR UPDATE NOWAIT; ROLLBACK");
      co_return false;
    } catch (sql_error const& error) {
      if (!error.is_locked()) throw;
    }
    co_await db.ask("ROLLBACK");
    co_return true;
  }

  static awaitable<bool> session_lives(connection& db, std::uint64_t session) {
    auto const done =
        co_await db.ask("SELECT COUNT(*) FROM information_schema.processlist WHERE id = " +
                        std::to_string(session));
    co_return number(done.row_of(0), 0) > 0;
  }

  awaitable<outcomes> elsewhere(std::string statements) {
    borrowed db(state_.commands, co_await state_.commands.borrow(clock::now() + how().timeout));
    auto done = co_await (*db).ask(std::move(statements));
    db.kept();
    co_return done;
  }

  store_state& state_;
};

}  // namespace

std::unique_ptr<session_protocol> make_row_protocol(store_state& state) {
  return std::make_unique<row_protocol>(state);
}

}  // namespace herdlock::mysql
