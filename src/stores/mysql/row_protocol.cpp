#include <thread>

#include "stores/mysql/session_protocol.hpp"

namespace herdlock::mysql {
namespace {

// The lock is the transaction's on a row of `<table>_lock`, which lives for ever. A lock wait that
// times out rolls back the statement or, with innodb_rollback_on_timeout, the transaction: both are
// the same here, since we roll back ourselves in either case and the wait was its first statement.
class row_protocol final : public session_protocol {
 public:
  explicit row_protocol(store_state& state) : state_(state) {}

  void quick_take(std::shared_ptr<connection> const& session, lock_request const& wanted,
                  clock::time_point deadline, quick_handler done) override {
    auto read = [this, session, wanted, deadline, done = std::move(done)](
                    outcomes const& all, std::optional<sql_error> error) {
      if (error && error->is_locked()) {
        forget_idle_timeout(*session);
        return done({});
      }
      if (error) return done({{}, std::move(error)});
      keep_idle_timeout(*session, wanted.ttl);
      auto db = all.last().rows.empty() ? nullptr : state_.commands.borrow_idle();
      if (!db) return done({});
      quick_record(session->id(), std::move(db), wanted, deadline, done);
    };
    connection::async_run(session, state_.pending->executor(), lock_sql(*session, wanted), deadline,
                          std::move(read));
  }

  // From the start; what is locked already stays so.
  lock_result take_rest(connection& session, lock_request const& wanted) override {
    lock_request at_once = wanted;
    at_once.wait = {};
    return take(session, at_once);
  }

  lock_result take(connection& session, lock_request const& wanted) override {
    while (true) {
      auto const locked = lock_row(session, wanted);
      if (!locked) return holder_of(wanted.name);
      if (*locked) return record(session, wanted);
      session.run("ROLLBACK; INSERT IGNORE INTO " + locks() + " VALUES (" +
                  literal(wanted.name.str()) + "); COMMIT");
    }
  }

  fencing_token hand_over(connection& session, lock_request const& next) override {
    session.run(idle_timeout_sql(next.ttl));
    keep_idle_timeout(session, next.ttl);
    if (!session.in_transaction()) throw sql_error{bad_reply, "the transaction has ended"};
    try {
      return record(session, next);
    } catch (sql_error const& error) {
      if (error.ends_session()) throw sql_error{not_written, error.text};
      throw;
    }
  }

  bool renew(connection& session, held_lock const& what, milliseconds ttl) override {
    session.run(idle_timeout_sql(ttl));
    keep_idle_timeout(session, ttl);
    if (!session.in_transaction()) return false;
    auto const done = elsewhere(renew_sql(how(), what, ttl));
    return done.at(0).matched > 0;
  }

  // Both in one transaction: whoever gets the row next finds it cleared.
  std::string release_sql(connection const& session, held_lock const& what) override {
    if (!session.in_transaction()) return "ROLLBACK";  // which matches no row
    return clear_sql(how(), what) + "; COMMIT";
  }
  bool released(outcomes const& all) override { return all.at(0).matched > 0; }

  // A holder that died leaves its row behind: only the lock itself tells. Nobody is kept from it by
  // the question unless the row says that it is held, and then somebody else has it, as a rule.
  std::optional<lease_info> inspect(connection& db, resource const& name) override {
    auto const found = as_lease_row(db.run(read_sql(how().table, name)).at(0));
    if (!found || !found->held() || !is_locked(db, name)) return std::nullopt;
    return as_lease_info(*found);
  }

  bool force_release(connection& db, resource const& name, clock::time_point deadline) override {
    auto const found = as_lease_row(db.run(read_sql(how().table, name)).at(0));
    if (!found || !found->held() || !is_locked(db, name)) return false;
    end_session(db, found->session);
    held_lock const theirs{name, found->fencing};
    db.run(clear_sql(how(), theirs));
    while (session_lives(db, found->session)) {
      if (clock::now() >= deadline) throw sql_error{bad_reply, "its session does not end"};
      std::this_thread::sleep_for(milliseconds{1});
    }
    return true;
  }

  void check_server(connection& db) override { refuse_cluster(db, "mode=row (FOR UPDATE)"); }

 private:
  settings const& how() const { return state_.how; }
  std::string locks() const { return "`" + how().table + "_lock`"; }
  std::string row_of(resource const& name) const {
    return "SELECT 1 FROM " + locks() +
           " FORCE INDEX (PRIMARY) WHERE resource = " + literal(name.str());
  }

  // Nothing: somebody else has it. False: there is no such row yet.
  std::optional<bool> lock_row(connection& session, lock_request const& wanted) {
    try {
      auto const done = session.run(lock_sql(session, wanted));
      keep_idle_timeout(session, wanted.ttl);
      return !done.last().rows.empty();
    } catch (sql_error const& error) {
      if (!error.is_locked()) throw;
      forget_idle_timeout(session);
      session.run("ROLLBACK");
      return std::nullopt;
    }
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

  void quick_record(std::uint64_t session, std::shared_ptr<connection> db,
                    lock_request const& wanted, clock::time_point deadline,
                    quick_handler const& done) {
    auto read = [this, db, done](outcomes const& all, std::optional<sql_error> error) {
      if (error) {
        state_.commands.drop(db);
      } else {
        state_.commands.give_back(db);
      }
      quick_result got{{}, std::move(error)};
      if (!got.error && all.last().matched > 0) got.token = fencing_token{all.last().given};
      done(std::move(got));
    };
    connection::async_run(std::move(db), state_.pending->executor(),
                          record_again_sql(how(), wanted, std::to_string(session), "1 = 1"),
                          deadline, std::move(read));
  }

  // On another connection, by autocommit: the token outlives a holder that dies.
  fencing_token record(connection& session, lock_request const& taken) {
    std::string const id = std::to_string(session.id());
    auto const again = elsewhere(record_again_sql(how(), taken, id, "1 = 1"));
    if (again.last().matched > 0) return {again.last().given};
    auto const done =
        elsewhere(record_sql(how(), taken, id, "1 = 1") + "; " + read_sql(how().table, taken.name));
    auto const found = as_lease_row(done.at(1));
    if (found && found->session == session.id()) return found->fencing;
    throw sql_error{bad_reply, "the row of the lease is missing"};
  }

  holder_info holder_of(resource const& name) {
    auto const done = elsewhere(read_sql(how().table, name));
    auto const found = as_lease_row(done.at(0));
    if (!found || !found->held()) return {};
    return {owner_label(found->owner), found->remaining()};
  }

  bool is_locked(connection& db, resource const& name) {
    try {
      db.run("START TRANSACTION; " + row_of(name) + " FOR UPDATE NOWAIT; ROLLBACK");
      return false;
    } catch (sql_error const& error) {
      if (!error.is_locked()) throw;
      db.run("ROLLBACK");
      return true;
    }
  }

  static bool session_lives(connection& db, std::uint64_t session) {
    return number(db.run("SELECT COUNT(*) FROM information_schema.processlist WHERE id = " +
                         std::to_string(session))
                      .row_of(0),
                  0) > 0;
  }

  outcomes elsewhere(std::string const& statements) {
    borrowed db(state_.commands, clock::now() + how().timeout);
    auto done = (*db).run(statements);
    db.kept();
    return done;
  }

  store_state& state_;
};

}  // namespace

std::unique_ptr<session_protocol> make_row_protocol(store_state& state) {
  return std::make_unique<row_protocol>(state);
}

}  // namespace herdlock::mysql
