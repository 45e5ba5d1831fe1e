// Acquire and release over PostgreSQL beside the statements that they take at least, sent by hand
// through the same client library; and the hand-over among eight processes beside the same wait by
// hand: for a NOTIFY (table), an advisory lock, a row lock.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the clients on CPU 1.
#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <support/postgres_server.hpp>

#include "contenders.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace {

using namespace bench;

// One connection; every call blocks. Statements are prepared, as the store's are.
class raw_client {
 public:
  explicit raw_client(std::string const& url) : db_(PQconnectdb(url.c_str())) {
    if (PQstatus(db_) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(db_));
  }
  ~raw_client() { PQfinish(db_); }

  void prepare(char const* name, std::string const& sql) {
    PQclear(PQprepare(db_, name, sql.c_str(), 0, nullptr));
  }
  /// Rows that were returned.
  int run(char const* name) {
    return rows_of(PQexecPrepared(db_, name, 0, nullptr, nullptr, nullptr, 0));
  }
  /// Both in one round trip; rows of the second.
  int run_both(char const* first, char const* second) {
    PQenterPipelineMode(db_);
    PQsendQueryPrepared(db_, first, 0, nullptr, nullptr, nullptr, 0);
    PQsendQueryPrepared(db_, second, 0, nullptr, nullptr, nullptr, 0);
    PQpipelineSync(db_);
    PQclear(PQgetResult(db_));
    PQgetResult(db_);
    int const rows = rows_of(PQgetResult(db_));
    PQgetResult(db_);
    PQclear(PQgetResult(db_));
    PQexitPipelineMode(db_);
    return rows;
  }
  int script(std::string const& sql) { return rows_of(PQexec(db_, sql.c_str())); }

  void wait_for_notification() {
    for (;;) {
      PQconsumeInput(db_);
      if (PGnotify* const news = PQnotifies(db_)) return PQfreemem(news);
      pollfd one{PQsocket(db_), POLLIN, 0};
      ::poll(&one, 1, -1);
    }
  }

 private:
  int rows_of(PGresult* result) {
    auto const status = PQresultStatus(result);
    int const rows = PQntuples(result);
    PQclear(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return rows;
    throw std::runtime_error(PQerrorMessage(db_));
  }

  PGconn* db_;
};

constexpr char schema[] =
    "CREATE TABLE leases(name bytea PRIMARY KEY, owner bytea NOT NULL, expires_at timestamptz NOT "
    "NULL) WITH (fillfactor = 70); CREATE TABLE locks(name bytea PRIMARY KEY);"
    "CREATE TABLE named(name bytea PRIMARY KEY, owner bytea NOT NULL, fencing bigint NOT NULL,"
    " acquired_at timestamptz NOT NULL, expires_at timestamptz NOT NULL) WITH (fillfactor = 70);"
    "INSERT INTO locks VALUES ('bench'), ('named'); CREATE TABLE turn(owner int NOT NULL);"
    "INSERT INTO turn VALUES (0); CREATE SEQUENCE tokens;";

// How a lock is taken by hand: one round trip, with BEGIN in front where there is one.
struct statements {
  std::string take;
  std::string give_back;
  bool in_transaction = false;
};

// A conditional upsert and a delete of what is ours; an advisory lock; a row lock.
statements const table{
    "INSERT INTO leases AS l VALUES ('bench', 'me', clock_timestamp() + interval '30 s') "
    "ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at "
    "WHERE l.expires_at <= clock_timestamp() RETURNING 1",
    "DELETE FROM leases WHERE name = 'bench' AND owner = 'me'"};
statements const advisory{"SELECT pg_advisory_lock(4711)", "SELECT pg_advisory_unlock(4711)"};
statements const row{"SELECT 1 FROM locks WHERE name = 'bench' FOR UPDATE", "ROLLBACK", true};

// What herdlock's locks are besides: a token that rises with each holder, and the holder's name
// and time where others see them. In as few statements as the bare minimum.
statements const named_table{
    "INSERT INTO named AS l VALUES ('bench', 'me', nextval('tokens'), clock_timestamp(), "
    "clock_timestamp() + interval '30 s') ON CONFLICT (name) DO UPDATE SET owner = "
    "excluded.owner, fencing = nextval('tokens'), acquired_at = excluded.acquired_at, "
    "expires_at = excluded.expires_at WHERE l.expires_at <= clock_timestamp() RETURNING fencing",
    "UPDATE named SET owner = '', expires_at = clock_timestamp() WHERE name = 'bench' AND "
    "owner = 'me' AND expires_at > clock_timestamp()"};
statements const named_advisory{
    "SELECT CASE WHEN pg_advisory_lock(4712) IS NOT NULL THEN nextval('tokens') END, "
    "set_config('application_name', 'me', false), "
    "set_config('idle_session_timeout', '30250', false)",
    "SELECT pg_advisory_unlock(4712), set_config('application_name', '', false)"};
statements const named_row{
    "SELECT nextval('tokens'), set_config('application_name', 'me', false), "
    "set_config('idle_in_transaction_session_timeout', '30250', false) "
    "FROM (SELECT 1 FROM locks WHERE name = 'named' FOR UPDATE) l",
    "ROLLBACK", true};

class by_hand final : public turn_taker {
 public:
  by_hand(std::string const& url, statements const& how)
      : raw_(url), in_transaction_(how.in_transaction) {
    raw_.prepare("begin", "BEGIN");
    raw_.prepare("take", how.take);
    raw_.prepare("give back", how.give_back);
  }
  void take() override {
    int const rows = in_transaction_ ? raw_.run_both("begin", "take") : raw_.run("take");
    if (rows != 1) throw std::runtime_error("busy");
  }
  void give_back() override { raw_.run("give back"); }

 private:
  raw_client raw_;
  bool const in_transaction_;
};

// The order in which the processes came, in memory that they share: what a queue costs is not the
// least of a hand-over.
struct line {
  std::atomic<std::size_t> arrived{0};
  std::array<std::atomic<int>, contenders> who{};
};

// The holder writes down who has it now and notifies it, in one statement.
class notify_by_hand final : public turn_taker {
 public:
  notify_by_hand(std::string const& url, line& shared, std::size_t number)
      : raw_(url), line_(shared), number_(static_cast<int>(number) + 1) {
    raw_.script("LISTEN turn_" + std::to_string(number_));
    for (std::size_t i = 1; i <= contenders; ++i) {
      auto const next = std::to_string(i);
      raw_.prepare(next.c_str(), "WITH given AS (UPDATE turn SET owner = " + next +
                                     " RETURNING 1) SELECT pg_notify('turn_" + next +
                                     "', '') FROM given");
    }
  }
  void take() override {
    place_ = line_.arrived.fetch_add(1);
    line_.who.at(place_) = number_;
    if (place_ != 0) raw_.wait_for_notification();
  }
  void give_back() override {
    if (place_ + 1 == contenders) {
      for (auto& each : line_.who) each = 0;
      line_.arrived = 0;
      return;
    }
    int next = 0;
    while ((next = line_.who.at(place_ + 1)) == 0) std::this_thread::yield();
    raw_.run(std::to_string(next).c_str());
  }

 private:
  raw_client raw_;
  line& line_;
  int number_;
  std::size_t place_ = 0;
};

// A mode of ours, and what stands beside it.
struct mode {
  char const* name;
  statements const& same;
  statements const& bare;
};
mode const modes[] = {
    {"table", named_table, table}, {"advisory", named_advisory, advisory}, {"row", named_row, row}};

void measure_hand_overs(report& to, std::string const& url, std::string const& raw) {
  lab::shared<line> order;
  contest among([&](turn_takers& all, std::size_t number) {
    for (mode const& each : modes) {
      all.push_back(std::make_unique<lease_taker>(url + each.name, "hand-over"));
    }
    all.push_back(std::make_unique<notify_by_hand>(raw, *order, number));
    all.push_back(std::make_unique<by_hand>(raw, advisory));
    all.push_back(std::make_unique<by_hand>(raw, row));
  });
  for (std::size_t way = 0; way < std::size(modes); ++way) {
    compare_hand_overs(to, fmt::format("postgres.{}.hand_over_p50", modes[way].name), among.by(way),
                       among.by(way + 3), at_most(1.5));
  }
}

void measure_postgres(report& to) {
  auto server = started<herdlock_test::postgres_server>();
  std::string const fresh = server.fresh_url();
  std::string const url = fresh + "&mode=";
  // A commit that notifies wakes every session of its database that listens on anything: each side
  // has the eight of its own, in a database of its own.
  std::string const raw = fresh.substr(0, fresh.rfind('/')) + "/by_hand";
  server.sql(fresh, "CREATE DATABASE by_hand");
  server.sql(raw, schema);
  measure_hand_overs(to, url, raw);
  for (mode const& each : modes) {
    auto const name = fmt::format("postgres.{}.acquire_release", each.name);
    if (!to.wants(name)) continue;
    event_loop loop;
    store_taker ours(loop, &herdlock::open_postgres, url + each.name);
    by_hand same(raw, each.same), bare(raw, each.bare);
    compare_pairs(to, name, ours, same, at_most(1.25));
    compare_pairs(to, name + "_beside_bare", ours, bare);
  }
}

suite const postgres_suite("postgres", &measure_postgres);

}  // namespace
