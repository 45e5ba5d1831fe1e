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

#include <fmt/format.h>

#include <random>
#include <support/mariadb_server.hpp>

#include "contenders.hpp"
#include "stores/mysql/mysql_store.hpp"

namespace {

using namespace bench;
using namespace std::chrono_literals;

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

  /// What the last statement called LAST_INSERT_ID() with; else 0.
  std::uint64_t given() const { return mysql_insert_id(db_); }
  /// How many rows the last statement changed, or returned.
  std::uint64_t run(std::string const& sql) {
    if (mysql_real_query(db_, sql.data(), sql.size()) != 0) fail();
    std::uint64_t rows = 0;
    int more = 0;
    for (; more == 0; more = mysql_next_result(db_)) {
      MYSQL_RES* const found = mysql_store_result(db_);
      rows = found ? mysql_num_rows(found) : mysql_affected_rows(db_);
      mysql_free_result(found);
    }
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

// How a lock is taken by hand. The statements' `{}` is the owner.
enum class if_busy { waits, asks_again };
struct statements {
  if_busy then;
  char const* take;
  char const* give_back;
  char const* begin = "";       // once
  char const* write_down = "";  // by a connection of its own: the holder's transaction is open
};

// The row of a name is there from the beginning, and stays, so that its tokens rise.
constexpr statements table{
    if_busy::asks_again,
    "UPDATE leases SET token = LAST_INSERT_ID(token + 1), owner = '{}', expires_at = "
    "UTC_TIMESTAMP(6) + INTERVAL 30 SECOND WHERE resource = 'bench' AND "
    "expires_at <= UTC_TIMESTAMP(6)",
    "UPDATE leases SET expires_at = '1970-01-01' WHERE resource = 'bench' AND owner = '{}'"};
// A conditional upsert; a delete of what is ours.
constexpr statements bare_table{
    if_busy::asks_again,
    "INSERT INTO bare_leases VALUES('bench', '{}', UTC_TIMESTAMP(6) + INTERVAL 30 SECOND) "
    "ON DUPLICATE KEY UPDATE owner = IF(expires_at <= UTC_TIMESTAMP(6), VALUES(owner), owner), "
    "expires_at = IF(expires_at <= UTC_TIMESTAMP(6), VALUES(expires_at), expires_at)",
    "DELETE FROM bare_leases WHERE resource = 'bench' AND owner = '{}'"};

// A transaction that has the row; a name that the server locks.
constexpr char take_row[] = "SELECT 1 FROM locks WHERE resource = 'bench' FOR UPDATE";
constexpr char in_transactions[] = "SET SESSION autocommit = 0";
constexpr statements row{if_busy::waits, take_row, "COMMIT", in_transactions};
constexpr statements named{if_busy::waits, "SELECT GET_LOCK('bench by hand', 60)",
                           "SELECT RELEASE_LOCK('bench by hand')"};

// What a lease has beyond these two: a number that rises with each holder and that no crash takes
// back, and the holder's name. One statement, committed before the holder begins. No name outlives
// its lock, since nothing else tells whose a lock is.
constexpr statements written_row{
    if_busy::waits, take_row, "UPDATE locks SET holder = '' WHERE resource = 'written row'; COMMIT",
    in_transactions,
    "UPDATE locks SET token = LAST_INSERT_ID(token + 1), holder = 'by hand' "
    "WHERE resource = 'written row'"};
constexpr statements written_name{
    if_busy::waits,
    "SELECT GET_LOCK('written by hand', 60); "
    "UPDATE locks SET token = LAST_INSERT_ID(token + 1), holder = 'by hand' WHERE resource = "
    "'written name' AND IS_USED_LOCK('written by hand') = CONNECTION_ID()",
    "SELECT RELEASE_LOCK('written by hand')"};

class by_hand final : public turn_taker {
 public:
  by_hand(std::uint16_t port, statements const& how)
      : raw_(port),
        take_(fmt::format(fmt::runtime(how.take), owner_)),
        give_back_(fmt::format(fmt::runtime(how.give_back), owner_)),
        how_(how) {
    if (*how.begin) raw_.run(how.begin);
    if (*how.write_down) other_ = std::make_unique<raw_client>(port);
  }
  void take() override {
    std::uniform_real_distribution<double> factor(0.5, 1.5);
    auto pause = 1000us;
    while (raw_.run(take_) == 0 && how_.then == if_busy::asks_again) {
      std::this_thread::sleep_for(pause * factor(random_));  // pauses like ours
      pause = std::min(pause * 2, 50'000us);
    }
    auto const before = std::exchange(token_, raw_.given());
    if (token_ != 0 && token_ <= before) throw std::runtime_error("the tokens do not rise");
    if (other_) other_->run(how_.write_down);
  }
  void give_back() override { raw_.run(give_back_); }

 private:
  std::string const owner_ = std::to_string(std::random_device{}());
  raw_client raw_;
  std::unique_ptr<raw_client> other_;
  std::string const take_, give_back_;
  statements const& how_;
  std::uint64_t token_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

// A mode of ours, and what stands beside it: what promises the same, and a bare lock.
struct mode {
  char const* name;
  statements const* same;
  statements const* bare;
};
constexpr mode modes[] = {
    {"table", &table, &bare_table}, {"row", &written_row, &row}, {"named", &written_name, &named}};

void measure_mysql(report& to) {
  auto server = started<herdlock_test::mariadb_server>();
  std::string const url = server.url("bench") + "?mode=";
  server.sql(std::string("USE bench; ") + schema);
  {
    contest among([&](turn_takers& all, std::size_t) {
      for (mode const& each : modes) {
        all.push_back(std::make_unique<lease_taker>(url + each.name, "bench"));
        all.push_back(std::make_unique<by_hand>(server.port(), *each.same));
        all.push_back(std::make_unique<by_hand>(server.port(), *each.bare));
      }
    });
    std::size_t way = 0;
    for (mode const& each : modes) {
      auto const name = fmt::format("mysql.{}.hand_over_p50", each.name);
      auto const ours = among.by(way), same = among.by(way + 1), bare = among.by(way + 2);
      compare_hand_overs(to, name, ours, same, at_most(1.5));
      compare_hand_overs(to, name + "_beside_bare_lock", ours, bare);
      way += 3;
    }
  }
  for (mode const& each : modes) {
    auto const name = fmt::format("mysql.{}.acquire_release", each.name);
    if (!to.wants(name)) continue;
    event_loop loop;
    store_taker ours(loop, &herdlock::open_mysql, url + each.name);
    by_hand same(server.port(), *each.same), bare(server.port(), *each.bare);
    compare_pairs(to, name, ours, same, at_most(1.25));
    compare_pairs(to, name + "_beside_bare_lock", ours, bare);
  }
}

suite const mysql_suite("mysql", &measure_mysql);

}  // namespace
