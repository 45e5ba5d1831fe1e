#include "stores/postgres/examination.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "stores/common/clock_skew.hpp"
#include "stores/common/look_up.hpp"
#include "stores/common/numbers.hpp"
#include "stores/postgres/settings.hpp"

namespace herdlock {
namespace postgres {
namespace {

struct query_failed {
  std::string text;
};

// Blocking, unlike the store's own; for looking only. Each step has the settings' timeout, and the
// first that takes longer is the last.
class exam_session {
 public:
  explicit exam_session(settings const& how) : limit_(how.timeout) {
    auto const deadline = clock::now() + limit_;
    auto all = how.parameters;
    add_hosts(how, deadline, all);
    std::vector<char const*> keys;
    std::vector<char const*> values;
    for (auto const& [key, value] : all) {
      if (value.empty()) continue;
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    keys.push_back(nullptr);
    values.push_back(nullptr);
    handle_.reset(PQconnectStartParams(keys.data(), values.data(), 0));
    if (!handle_ || PQstatus(handle_.get()) == CONNECTION_BAD) throw query_failed{sql_error()};
    connect(deadline);
    run("SET statement_timeout = " + std::to_string(how.timeout.count()));
  }

  // The first column of the first row; empty when there is none.
  std::string run(std::string const& sql) const {
    if (PQsendQuery(handle_.get(), sql.c_str()) != 1) throw query_failed{sql_error()};
    auto const deadline = clock::now() + limit_;
    answer_ptr got(nullptr, &PQclear);
    while (auto next = next_answer(deadline)) got = std::move(next);
    auto const status = PQresultStatus(got.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw query_failed{sql_error()};
    if (PQntuples(got.get()) < 1 || PQnfields(got.get()) < 1) return {};
    return PQgetvalue(got.get(), 0, 0);
  }
  std::string setting(std::string const& name) const {
    return run("SELECT coalesce(current_setting('" + name + "', true), '')");
  }
  std::string quoted(std::string const& text) const {
    std::unique_ptr<char, decltype(&PQfreemem)> const made(
        PQescapeLiteral(handle_.get(), text.data(), text.size()), &PQfreemem);
    return made ? made.get() : "''";
  }
  std::string announced_pid() const { return std::to_string(PQbackendPID(handle_.get())); }

 private:
  using answer_ptr = std::unique_ptr<PGresult, decltype(&PQclear)>;
  using parameters = std::vector<std::pair<std::string, std::string>>;

  // libpq's own look-up has no deadline; it gets the name for certificates.
  static void add_hosts(settings const& how, clock::time_point deadline, parameters& all) {
    all.emplace_back("port", how.port);
    if (how.host.starts_with('/')) return static_cast<void>(all.emplace_back("host", how.host));
    auto const found = stores::look_up_here(how.host, deadline, -1);
    if (found.all.empty()) throw query_failed{found.error};
    std::string hosts;
    std::string addresses;
    for (auto const& each : found.all) {
      hosts += (hosts.empty() ? "" : ",") + how.host;
      addresses += (addresses.empty() ? "" : ",") + each;
    }
    all.emplace_back("host", hosts);
    all.emplace_back("hostaddr", addresses);
  }
  void connect(clock::time_point deadline) const {
    auto next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
      if (next == PGRES_POLLING_FAILED) throw query_failed{sql_error()};
      wait_for(next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline);
      next = PQconnectPoll(handle_.get());
    }
  }
  answer_ptr next_answer(clock::time_point deadline) const {
    while (PQisBusy(handle_.get()) == 1) {
      wait_for(POLLIN, deadline);
      if (PQconsumeInput(handle_.get()) != 1) throw query_failed{sql_error()};
    }
    return {PQgetResult(handle_.get()), &PQclear};
  }
  void wait_for(short what, clock::time_point deadline) const {
    pollfd one{PQsocket(handle_.get()), what, 0};
    int found = 0;
    do {
      auto const left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
      found = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    } while (found < 0 && errno == EINTR);
    if (found > 0) return;
    throw query_failed{"the server does not answer within " + std::to_string(limit_.count()) +
                       " ms"};
  }
  std::string sql_error() const {
    std::string text = handle_ ? PQerrorMessage(handle_.get()) : "no memory";
    std::replace(text.begin(), text.end(), '\n', ' ');
    while (text.ends_with(' ')) text.pop_back();
    return text;
  }
  struct closer {
    void operator()(PGconn* handle) const { PQfinish(handle); }
  };
  std::unique_ptr<PGconn, closer> handle_;
  milliseconds const limit_;
};

class server_check {
 public:
  server_check(settings const& how, examination& into)
      : how_(how), into_(into), address_(how.host + (how.port.empty() ? "" : ":" + how.port)) {}

  void make() {
    try {
      exam_session const db(how_);
      into_.pass("postgres.reachable");
      recovery(db);
      durability(db);
      time_outs(db);
      skew(db);
      rights(db);
      pooling(db);
    } catch (query_failed const& why) {
      into_.find({"postgres.reachable", severity::error, why.text, "there is no lock to be had",
                  "start the server, or put the URL right"});
    }
  }

 private:
  std::string at() const { return "the server at " + address_; }

  void recovery(exam_session const& db) {
    bool const standby = db.run("SELECT pg_is_in_recovery()") == "t";
    into_.expect(!standby, {"postgres.standby", severity::error, at() + " is a hot standby",
                            "no lease can be written there; advisory locks there exclude nobody "
                            "at the primary",
                            "name the primary, or several hosts with "
                            "target_session_attrs=read-write"});
    if (standby) return;
    into_.expect(
        db.setting("default_transaction_read_only") != "on",
        {"postgres.read_only", severity::error, at() + " makes this user's transactions read-only",
         "no lease can be written there", "ALTER ROLE … SET default_transaction_read_only = off"});
  }
  void durability(exam_session const& db) {
    if (how_.mode == lock_mode::advisory) return;
    into_.expect(db.setting("synchronous_commit") != "off",
                 {"postgres.synchronous_commit", severity::warning,
                  at() + " has synchronous_commit = off for this user",
                  "a crash forgets the grants of the last moments, and gives them to others while "
                  "their holders still work",
                  "ALTER ROLE … SET synchronous_commit = on"});
    into_.expect(db.setting("fsync") != "off",
                 {"postgres.fsync", severity::warning, at() + " has fsync = off",
                  "a crash of the machine forgets grants, or damages all data", "set fsync = on"});
  }
  void time_outs(exam_session const& db) {
    if (how_.mode == lock_mode::table) return;
    std::string ends;
    for (char const* name : {"idle_session_timeout", "idle_in_transaction_session_timeout"}) {
      auto const value = db.setting(name);
      if (!value.empty() && value != "0") ends += " " + std::string(name) + " = " + value;
    }
    into_.expect(ends.empty(), {"postgres.idle_timeout", severity::warning, at() + " has" + ends,
                                "the lock of a lease with a long ttl ends with its idle session",
                                "set them to 0 for this user, or use mode=table"});
  }
  void skew(exam_session const& db) {
    auto const before = wall_clock_us();
    auto const text =
        db.run("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text");
    auto const server = whole_number<std::int64_t>(text).value_or(0);
    check_skew(into_, "postgres.clock", address_, skew_of(server, before, wall_clock_us()));
  }
  void rights(exam_session const& db) {
    if (how_.mode != lock_mode::table) return session_rights(db);
    auto const name = db.quoted(how_.table);
    bool const there = db.run("SELECT to_regclass(" + name + ") IS NOT NULL") == "t";
    std::string missing;
    if (there) {
      for (char const* right : {"SELECT", "INSERT", "UPDATE", "DELETE"}) {
        auto const sql = "SELECT has_table_privilege(" + name + ", '" + right + "')";
        if (db.run(sql) != "t") missing += " " + std::string(right);
      }
    } else {
      missing = missing_to_create(db);
    }
    expect_rights(db, missing, "leases cannot be kept there");
  }
  void expect_rights(exam_session const& db, std::string const& missing, char const* consequence) {
    into_.expect(missing.empty(),
                 {"postgres.rights", severity::error,
                  "the user " + db.run("SELECT current_user") + " may not" + missing, consequence,
                  "GRANT them, or let the owner run herdlock once"});
  }
  std::string missing_to_create(exam_session const& db) {
    if (db.run("SELECT has_schema_privilege(current_schema(), 'CREATE')") == "t") return {};
    return " CREATE in the schema, where the table " + how_.table + " is still to be made";
  }
  // What is missing may show only after a crash of the server, when the tokens leap.
  void session_rights(exam_session const& db) {
    auto const tokens = db.quoted(how_.table + "_fencing");
    auto const unbroken = db.quoted(how_.table + "_unbroken");
    if (db.run("SELECT to_regclass(" + tokens + ") IS NULL") == "t") {
      return expect_rights(db, missing_to_create(db), "leases cannot be kept there");
    }
    std::string missing;
    for (char const* right : {"USAGE", "UPDATE"}) {
      auto const sql = "SELECT has_sequence_privilege(" + tokens + ", '" + right + "')";
      if (db.run(sql) != "t") missing += " " + std::string(right) + " " + how_.table + "_fencing";
    }
    for (char const* right : {"SELECT", "INSERT"}) {
      auto const sql = "SELECT coalesce(has_table_privilege(to_regclass(" + unbroken + "), '" +
                       right + "'), true)";
      if (db.run(sql) != "t") missing += " " + std::string(right) + " " + how_.table + "_unbroken";
    }
    expect_rights(db, missing, "after a crash of the server no lease can be had");
  }
  // A pooler makes up the number that it announces. In transaction mode, a second client's
  // transaction gets the connection that the first one's last statement ran on.
  void pooling(exam_session const& db) {
    auto const first = db.run("SELECT pg_backend_pid()");
    exam_session const other(how_);
    other.run("BEGIN");
    auto const theirs = other.run("SELECT pg_backend_pid()");
    auto const again = db.run("SELECT pg_backend_pid()");
    other.run("COMMIT");
    bool const shared = first == theirs || first != again;
    into_.expect(!shared,
                 {"postgres.pooler", severity::error,
                  "a pooler at " + address_ + " gives each transaction another connection",
                  how_.mode == lock_mode::table
                      ? "LISTEN is lost, and waiters hear of a release late"
                      : "locks belong to connections: they are kept by strangers and freed by "
                        "chance",
                  "connect to the server itself, or set pool_mode = session for this user"});
    if (shared) return;
    into_.expect(first == db.announced_pid(),
                 {"postgres.proxy", severity::warning,
                  "there is a proxy between us and the server at " + address_,
                  "locks hold as long as it keeps one connection for each client",
                  "connect to the server itself, or see to pool_mode = session"});
  }

  settings const& how_;
  examination& into_;
  std::string const address_;
};

}  // namespace
}  // namespace postgres

result<examination> examine_postgres(store_url url) {
  auto const how = postgres::take_settings(std::move(url));
  if (how.has_error()) return how.error();
  examination made;
  postgres::server_check(*how, made).make();
  return made;
}

}  // namespace herdlock
