// Acquire and release over PostgreSQL beside the statements that they take at least, sent by hand
// through the same client library; and the hand-over among eight processes beside the same wait by
// hand: for a NOTIFY (table), an advisory lock, a row lock.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the clients on CPU 1.
#include <libpq-fe.h>
#include <poll.h>
#include <sys/mman.h>

#include <atomic>
#include <stdexcept>
#include <support/postgres_server.hpp>
#include <thread>

#include "contenders.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace {

constexpr std::size_t pairs = 24;  // of one round
constexpr std::size_t rounds = 40;

// One connection; every call blocks. Statements are prepared, as the store's are.
class raw_client {
 public:
  explicit raw_client(std::string const& url) : db_(PQconnectdb(url.c_str())) {
    if (PQstatus(db_) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(db_));
  }
  ~raw_client() { PQfinish(db_); }
  raw_client(raw_client const&) = delete;
  raw_client& operator=(raw_client const&) = delete;

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

// A conditional upsert; a delete of what is ours.
class table_by_hand final : public bench::turn_taker {
 public:
  explicit table_by_hand(std::string const& url) : raw_(url) {
    raw_.prepare("take",
                 "INSERT INTO leases AS l VALUES ('bench', 'me', clock_timestamp() + interval '30 "
                 "s') ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = "
                 "excluded.expires_at WHERE l.expires_at <= clock_timestamp() RETURNING 1");
    raw_.prepare("give back", "DELETE FROM leases WHERE name = 'bench' AND owner = 'me'");
  }
  void take() override {
    if (raw_.run("take") != 1) throw std::runtime_error("busy");
  }
  void give_back() override { raw_.run("give back"); }

 private:
  raw_client raw_;
};

class advisory_by_hand final : public bench::turn_taker {
 public:
  explicit advisory_by_hand(std::string const& url) : raw_(url) {
    raw_.prepare("take", "SELECT pg_advisory_lock(4711)");
    raw_.prepare("give back", "SELECT pg_advisory_unlock(4711)");
  }
  void take() override { raw_.run("take"); }
  void give_back() override { raw_.run("give back"); }

 private:
  raw_client raw_;
};

// BEGIN and the lock in one round trip, both prepared.
class row_by_hand final : public bench::turn_taker {
 public:
  explicit row_by_hand(
      std::string const& url,
      std::string const& lock = "SELECT 1 FROM locks WHERE name = 'bench' FOR UPDATE")
      : raw_(url) {
    raw_.prepare("begin", "BEGIN");
    raw_.prepare("take", lock);
    raw_.prepare("give back", "ROLLBACK");
  }
  void take() override { raw_.run_both("begin", "take"); }
  void give_back() override { raw_.run("give back"); }

 private:
  raw_client raw_;
};

// What herdlock's locks are besides: a token that rises with each holder, and the holder's name
// and time where others see them. In as few statements as the bare minimum.
constexpr char named[] =
    ", set_config('application_name', 'me', false), set_config('%', '30250', false)";

std::string naming(std::string const& limit) {
  std::string text = named;
  return text.replace(text.find('%'), 1, limit);
}

class named_table_by_hand final : public bench::turn_taker {
 public:
  explicit named_table_by_hand(std::string const& url) : raw_(url) {
    raw_.prepare("take",
                 "INSERT INTO named AS l VALUES ('bench', 'me', nextval('tokens'), "
                 "clock_timestamp(), clock_timestamp() + interval '30 s') ON CONFLICT (name) DO "
                 "UPDATE SET owner = excluded.owner, fencing = nextval('tokens'), acquired_at = "
                 "excluded.acquired_at, expires_at = excluded.expires_at WHERE l.expires_at <= "
                 "clock_timestamp() RETURNING fencing");
    raw_.prepare("give back",
                 "UPDATE named SET owner = '', expires_at = clock_timestamp() WHERE name = "
                 "'bench' AND owner = 'me' AND expires_at > clock_timestamp()");
  }
  void take() override {
    if (raw_.run("take") != 1) throw std::runtime_error("busy");
  }
  void give_back() override { raw_.run("give back"); }

 private:
  raw_client raw_;
};

class named_advisory_by_hand final : public bench::turn_taker {
 public:
  explicit named_advisory_by_hand(std::string const& url) : raw_(url) {
    raw_.prepare("take",
                 "SELECT CASE WHEN pg_advisory_lock(4712) IS NOT NULL THEN nextval('tokens') END" +
                     naming("idle_session_timeout"));
    raw_.prepare("give back",
                 "SELECT pg_advisory_unlock(4712), set_config('application_name', '', false)");
  }
  void take() override { raw_.run("take"); }
  void give_back() override { raw_.run("give back"); }

 private:
  raw_client raw_;
};

std::string named_row_lock() {
  return "SELECT nextval('tokens')" + naming("idle_in_transaction_session_timeout") +
         " FROM (SELECT 1 FROM locks WHERE name = 'named' FOR UPDATE) l";
}

// The order in which the processes came, in memory that they share: what a queue costs is not the
// least of a hand-over.
struct line {
  std::atomic<std::size_t> arrived{0};
  std::array<std::atomic<int>, bench::contenders> who{};

  static line& make() {
    void* const place =
        ::mmap(nullptr, sizeof(line), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) throw std::runtime_error("no shared memory");
    return *new (place) line;
  }
};

// The holder writes down who has it now and notifies it, in one statement.
class notify_by_hand final : public bench::turn_taker {
 public:
  notify_by_hand(std::string const& url, line& shared, std::size_t number)
      : raw_(url), line_(shared), number_(static_cast<int>(number) + 1) {
    raw_.script("LISTEN turn_" + std::to_string(number_));
    for (std::size_t i = 1; i <= bench::contenders; ++i) {
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
    if (place_ + 1 == bench::contenders) {
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

double by_hand(bench::turn_taker& one) {
  return bench::nanoseconds_of([&] {
           for (std::size_t i = 0; i < pairs; ++i) {
             one.take();
             one.give_back();
           }
         }) /
         1000 / pairs;
}

struct place {
  std::string store;  // with options
  std::string raw;
};

void measure_pairs(bench::report& report, place const& where, std::string const& mode,
                   std::string const& name, bench::ratio_limit limit, bench::turn_taker& theirs) {
  if (!report.wants(name)) return;
  bench::pair_maker ours(&herdlock::open_postgres, where.store + "&mode=" + mode);
  report.compare({.name = name,
                  .unit = "us",
                  .subject = [&] { return ours.round(pairs); },
                  .baseline = [&] { return by_hand(theirs); },
                  .limit = limit,
                  .rounds = rounds});
}

void measure_all_pairs(bench::report& report, place const& where) {
  auto const limit = bench::at_most(1.25);
  auto const none = bench::no_limit;
  table_by_hand table(where.raw);
  advisory_by_hand advisory(where.raw);
  row_by_hand row(where.raw);
  named_table_by_hand named_table(where.raw);
  named_advisory_by_hand named_advisory(where.raw);
  row_by_hand named_row(where.raw, named_row_lock());
  measure_pairs(report, where, "table", "postgres.table.acquire_release", limit, named_table);
  measure_pairs(report, where, "advisory", "postgres.advisory.acquire_release", limit,
                named_advisory);
  measure_pairs(report, where, "row", "postgres.row.acquire_release", limit, named_row);
  measure_pairs(report, where, "table", "postgres.table.acquire_release_beside_bare", none, table);
  measure_pairs(report, where, "advisory", "postgres.advisory.acquire_release_beside_bare", none,
                advisory);
  measure_pairs(report, where, "row", "postgres.row.acquire_release_beside_bare", none, row);
}

void measure_hand_overs(bench::report& report, place const& where) {
  line& order = line::make();
  bench::contest among([&](std::size_t number) {
    bench::turn_takers all;
    for (std::string const mode : {"table", "advisory", "row"}) {
      all.push_back(
          std::make_unique<bench::lease_taker>(where.store + "&mode=" + mode, "hand-over"));
    }
    all.push_back(std::make_unique<notify_by_hand>(where.raw, order, number));
    all.push_back(std::make_unique<advisory_by_hand>(where.raw));
    all.push_back(std::make_unique<row_by_hand>(where.raw));
    return all;
  });
  auto const limit = bench::at_most(1.5);
  bench::compare_hand_overs(report, among, {"postgres.table.hand_over_p50", 0, 3, limit});
  bench::compare_hand_overs(report, among, {"postgres.advisory.hand_over_p50", 1, 4, limit});
  bench::compare_hand_overs(report, among, {"postgres.row.hand_over_p50", 2, 5, limit});
}

void measure_postgres(bench::report& report) {
  bench::pin_if_asked(0);
  herdlock_test::postgres_server server;
  bench::pin_if_asked(1);
  std::string const url = server.fresh_url();
  // A commit that notifies wakes every session of its database that listens on anything: each side
  // has the eight of its own, in a database of its own.
  std::string const raw = url.substr(0, url.rfind('/')) + "/by_hand";
  server.sql(url, "CREATE DATABASE by_hand");
  server.sql(raw, schema);
  place const where{url, raw};
  measure_hand_overs(report, where);
  measure_all_pairs(report, where);
}

bench::suite const postgres_suite("postgres", [](bench::report& report) {
  try {
    measure_postgres(report);
  } catch (std::runtime_error const& why) {
    report.skip("postgres", why.what());
  }
});

}  // namespace
