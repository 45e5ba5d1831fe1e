// Acquire and release over MariaDB beside the statements that they take at least, sent by hand
// through the same client library; and the hand-over among eight processes beside the same wait by
// hand: for a row lock, for a named lock, or (table) asking again after the same pauses.
//
// The lines with a limit are beside a lock that promises what ours does: an owner, an end by the
// server's clock, and a token that rises with each holder, told with the answer. A bare lock (a row
// that is there or not, a row lock, a named lock) has no token: the lines beside it have no limit.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the clients on CPU 1.
#include <mysql.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <support/mariadb_server.hpp>
#include <thread>

#include "contenders.hpp"
#include "stores/mysql/mysql_store.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t pairs = 24;  // of one round
constexpr std::size_t rounds = 40;

// One connection; every call blocks.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port) : db_(mysql_init(nullptr)) {
    if (!mysql_real_connect(db_, "127.0.0.1", "root", "", "bench", port, nullptr,
                            CLIENT_MULTI_STATEMENTS)) {
      throw std::runtime_error(mysql_error(db_));
    }
  }
  ~raw_client() { mysql_close(db_); }
  raw_client(raw_client const&) = delete;
  raw_client& operator=(raw_client const&) = delete;

  /// What the last statement called LAST_INSERT_ID() with.
  std::uint64_t given() const { return mysql_insert_id(db_); }
  /// How many rows the last statement changed, or returned.
  std::uint64_t run(std::string const& sql) {
    if (mysql_real_query(db_, sql.data(), sql.size()) != 0) fail();
    std::uint64_t rows = 0;
    int more = 0;
    do {
      MYSQL_RES* const found = mysql_store_result(db_);
      rows = found ? mysql_num_rows(found) : mysql_affected_rows(db_);
      mysql_free_result(found);
      more = mysql_next_result(db_);
    } while (more == 0);
    if (more > 0) fail();
    return rows;
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error(mysql_error(db_)); }

  MYSQL* db_;
};

constexpr char schema[] =
    "CREATE TABLE bare_leases(resource VARBINARY(512) PRIMARY KEY, owner VARBINARY(128) NOT NULL, "
    "expires_at DATETIME(6) NOT NULL) ENGINE = InnoDB;"
    "CREATE TABLE leases(resource VARBINARY(512) PRIMARY KEY, owner VARBINARY(128) NOT NULL, "
    "token BIGINT UNSIGNED NOT NULL, expires_at DATETIME(6) NOT NULL) ENGINE = InnoDB;"
    "INSERT INTO leases VALUES('bench', '', 0, '1970-01-01');"
    "CREATE TABLE locks(resource VARBINARY(512) PRIMARY KEY, token BIGINT UNSIGNED NOT NULL, "
    "holder VARBINARY(128) NOT NULL) ENGINE = InnoDB; "
    "INSERT INTO locks VALUES('bench', 0, ''), ('written row', 0, ''), ('written name', 0, '');";

// Asks for a table's row again after pauses like ours.
class asking_by_hand : public bench::turn_taker {
 public:
  explicit asking_by_hand(std::uint16_t port) : raw_(port) {}
  void take() final {
    std::uniform_real_distribution<double> factor(0.5, 1.5);
    auto pause = 1000us;
    while (!try_take()) {
      std::this_thread::sleep_for(pause * factor(random_));
      pause = std::min(pause * 2, 50'000us);
    }
  }

 protected:
  virtual bool try_take() = 0;

  raw_client raw_;
  std::string const owner_ = std::to_string(std::random_device{}());

 private:
  std::minstd_rand random_{std::random_device{}()};
};

// The row of a name is there from the beginning, and stays, so that its tokens rise.
class table_by_hand final : public asking_by_hand {
 public:
  using asking_by_hand::asking_by_hand;
  void give_back() override { raw_.run(give_back_); }

 private:
  bool try_take() override {
    if (raw_.run(take_) == 0) return false;
    if (raw_.given() <= token_) throw std::runtime_error("the tokens do not rise");
    token_ = raw_.given();
    return true;
  }

  std::string const take_ = "UPDATE leases SET token = LAST_INSERT_ID(token + 1), owner = '" +
                            owner_ +
                            "', expires_at = UTC_TIMESTAMP(6) + INTERVAL 30 SECOND "
                            "WHERE resource = 'bench' AND expires_at <= UTC_TIMESTAMP(6)";
  std::string const give_back_ =
      "UPDATE leases SET expires_at = '1970-01-01' WHERE resource = 'bench' AND owner = '" +
      owner_ + "'";
  std::uint64_t token_ = 0;
};

// A conditional upsert; a delete of what is ours.
class bare_table_by_hand final : public asking_by_hand {
 public:
  using asking_by_hand::asking_by_hand;
  void give_back() override { raw_.run(give_back_); }

 private:
  bool try_take() override { return raw_.run(take_) != 0; }

  std::string const take_ =
      "INSERT INTO bare_leases VALUES('bench', '" + owner_ +
      "', UTC_TIMESTAMP(6) + INTERVAL 30 SECOND) ON DUPLICATE KEY UPDATE owner = "
      "IF(expires_at <= UTC_TIMESTAMP(6), VALUES(owner), owner), expires_at = "
      "IF(expires_at <= UTC_TIMESTAMP(6), VALUES(expires_at), expires_at)";
  std::string const give_back_ =
      "DELETE FROM bare_leases WHERE resource = 'bench' AND owner = '" + owner_ + "'";
};

// A transaction that has the row.
class row_by_hand final : public bench::turn_taker {
 public:
  explicit row_by_hand(std::uint16_t port) : raw_(port) { raw_.run("SET SESSION autocommit = 0"); }
  void take() override { raw_.run("SELECT 1 FROM locks WHERE resource = 'bench' FOR UPDATE"); }
  void give_back() override { raw_.run("COMMIT"); }

 private:
  raw_client raw_;
};

class named_by_hand final : public bench::turn_taker {
 public:
  explicit named_by_hand(std::uint16_t port) : raw_(port) {}
  void take() override { raw_.run("SELECT GET_LOCK('bench by hand', 60)"); }
  void give_back() override { raw_.run("SELECT RELEASE_LOCK('bench by hand')"); }

 private:
  raw_client raw_;
};

// What a lease has beyond a bare row lock or named lock: a number that rises with each holder and
// that no crash takes back, and the holder's name. One statement, committed before the holder
// begins.
constexpr char write_down[] =
    "UPDATE locks SET token = LAST_INSERT_ID(token + 1), holder = 'by hand' WHERE resource = ";

// By a connection of its own: the holder's transaction is open.
class written_row_by_hand final : public bench::turn_taker {
 public:
  explicit written_row_by_hand(std::uint16_t port) : raw_(port), other_(port) {
    raw_.run("SET SESSION autocommit = 0");
  }
  void take() override {
    raw_.run("SELECT 1 FROM locks WHERE resource = 'bench' FOR UPDATE");
    other_.run(std::string(write_down) + "'written row'");
  }
  // No name outlives its lock, since nothing else tells whose a lock is.
  void give_back() override {
    raw_.run("UPDATE locks SET holder = '' WHERE resource = 'written row'; COMMIT");
  }

 private:
  raw_client raw_;
  raw_client other_;
};

class written_name_by_hand final : public bench::turn_taker {
 public:
  explicit written_name_by_hand(std::uint16_t port) : raw_(port) {}
  void take() override {
    raw_.run("SELECT GET_LOCK('written by hand', 60); " + std::string(write_down) +
             "'written name' AND IS_USED_LOCK('written by hand') = CONNECTION_ID()");
  }
  void give_back() override { raw_.run("SELECT RELEASE_LOCK('written by hand')"); }

 private:
  raw_client raw_;
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

template <class Minimum>
void measure_pairs(bench::report& report, herdlock_test::mariadb_server& server,
                   std::string const& mode, std::string const& name, bench::ratio_limit limit) {
  if (!report.wants(name)) return;
  bench::pair_maker ours(&herdlock::open_mysql, server.url("bench") + "?mode=" + mode);
  Minimum theirs(server.port());
  report.compare({.name = name,
                  .unit = "us",
                  .subject = [&] { return ours.round(pairs); },
                  .baseline = [&] { return by_hand(theirs); },
                  .limit = limit,
                  .rounds = rounds});
}

void measure_hand_overs(bench::report& report, herdlock_test::mariadb_server& server) {
  std::string const url = server.url("bench");
  auto const port = server.port();
  bench::contest among([&](std::size_t) {
    bench::turn_takers all;
    for (std::string const mode : {"table", "row", "named"}) {
      all.push_back(std::make_unique<bench::lease_taker>(url + "?mode=" + mode, "bench"));
    }
    all.push_back(std::make_unique<table_by_hand>(port));
    all.push_back(std::make_unique<row_by_hand>(port));
    all.push_back(std::make_unique<named_by_hand>(port));
    all.push_back(std::make_unique<written_row_by_hand>(port));
    all.push_back(std::make_unique<written_name_by_hand>(port));
    all.push_back(std::make_unique<bare_table_by_hand>(port));
    return all;
  });
  auto const limit = bench::at_most(1.5);
  bench::compare_hand_overs(report, among, {"mysql.table.hand_over_p50", 0, 3, limit});
  bench::compare_hand_overs(report, among, {"mysql.table.hand_over_p50_beside_bare_lock", 0, 8});
  bench::compare_hand_overs(report, among, {"mysql.row.hand_over_p50", 1, 6, limit});
  bench::compare_hand_overs(report, among, {"mysql.row.hand_over_p50_beside_bare_lock", 1, 4});
  bench::compare_hand_overs(report, among, {"mysql.named.hand_over_p50", 2, 7, limit});
  bench::compare_hand_overs(report, among, {"mysql.named.hand_over_p50_beside_bare_lock", 2, 5});
}

void measure_mysql(bench::report& report) {
  bench::pin_if_asked(0);
  herdlock_test::mariadb_server server;
  bench::pin_if_asked(1);
  server.url("bench");
  server.sql(std::string("USE bench; ") + schema);
  measure_hand_overs(report, server);
  auto const limit = bench::at_most(1.25);
  measure_pairs<table_by_hand>(report, server, "table", "mysql.table.acquire_release", limit);
  measure_pairs<bare_table_by_hand>(
      report, server, "table", "mysql.table.acquire_release_beside_bare_lock", bench::no_limit);
  measure_pairs<written_row_by_hand>(report, server, "row", "mysql.row.acquire_release", limit);
  measure_pairs<row_by_hand>(report, server, "row", "mysql.row.acquire_release_beside_bare_lock",
                             bench::no_limit);
  measure_pairs<written_name_by_hand>(report, server, "named", "mysql.named.acquire_release",
                                      limit);
  measure_pairs<named_by_hand>(report, server, "named",
                               "mysql.named.acquire_release_beside_bare_lock", bench::no_limit);
}

bench::suite const mysql_suite("mysql", [](bench::report& report) {
  try {
    measure_mysql(report);
  } catch (std::runtime_error const& why) {
    report.skip("mysql", why.what());
  }
});

}  // namespace
