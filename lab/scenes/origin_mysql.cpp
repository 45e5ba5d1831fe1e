#include <fmt/format.h>
#include <mysql.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "terminal/exit_code.hpp"
#include "scenes/origin.hpp"

namespace herdlock::cli {
namespace {

struct mysql_closer {
  void operator()(MYSQL* connection) const { mysql_close(connection); }
};
struct result_freer {
  void operator()(MYSQL_RES* rows) const { mysql_free_result(rows); }
};

// Our database of the demo, on one connection. Every text in a statement is our own (random
// digits, a mode's name), never the user's.
class mysql_origin final : public origin_session {
 public:
  mysql_origin(store_url const& url, milliseconds load_time);

  void create() override;
  product revise(std::int64_t revision) override;
  void log_load(load_label const& label) override;
  product load() override;
  std::int64_t count_loads(load_label const& label) override;
  int max_sessions() override;

 private:
  using row = std::vector<std::string>;
  void run(std::string const& sql);
  row first_row(std::string const& sql);
  [[noreturn]] void fail() const;

  std::string place_;
  milliseconds load_time_;
  std::unique_ptr<MYSQL, mysql_closer> connection_;
};

mysql_origin::mysql_origin(store_url const& url, milliseconds load_time)
    : place_(url.redacted()), load_time_(load_time), connection_(mysql_init(nullptr)) {
  std::string const database = url.path.size() > 1 ? url.path.substr(1) : "";
  if (url.host.empty() || database.empty() || database.find('/') != std::string::npos) {
    throw command_error(exit_code::usage,
                        fmt::format("origin {}: needs a host and a database, as in "
                                    "mysql://user:password@127.0.0.1:3306/demo",
                                    place_));
  }
  unsigned int const seconds = 5;
  mysql_options(connection_.get(), MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  mysql_options(connection_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
  if (!mysql_real_connect(connection_.get(), url.host.c_str(), url.user.c_str(),
                          url.password.c_str(), database.c_str(), url.port.value_or(3306), nullptr,
                          0)) {
    fail();
  }
}

void mysql_origin::fail() const {
  throw command_error(exit_code::unavailable,
                      fmt::format("origin {}: {}; check that the server runs, and its user, "
                                  "password and database",
                                  place_, mysql_error(connection_.get())));
}

void mysql_origin::run(std::string const& sql) {
  if (mysql_real_query(connection_.get(), sql.data(), sql.size()) != 0) fail();
}

mysql_origin::row mysql_origin::first_row(std::string const& sql) {
  run(sql);
  std::unique_ptr<MYSQL_RES, result_freer> const rows(mysql_store_result(connection_.get()));
  if (!rows) fail();
  MYSQL_ROW const first = mysql_fetch_row(rows.get());
  row made;
  if (!first) return made;
  unsigned long const* const lengths = mysql_fetch_lengths(rows.get());
  for (unsigned i = 0; i < mysql_num_fields(rows.get()); ++i) {
    made.emplace_back(first[i] ? first[i] : "", lengths[i]);
  }
  return made;
}

void mysql_origin::create() {
  row const tables = first_row(
      "SELECT COALESCE(SUM(table_name = 'Product'), 0),"
      " COALESCE(SUM(table_name = 'herdlock_demo_load'), 0)"
      " FROM information_schema.tables WHERE table_schema = DATABASE()");
  if (tables.at(0) != "0" && tables.at(1) == "0") {
    throw command_error(exit_code::usage,
                        fmt::format("origin {}: has a table Product that is not the demo's; give "
                                    "the demo a database of its own",
                                    place_));
  }
  run("CREATE TABLE IF NOT EXISTS herdlock_demo_load(id BIGINT AUTO_INCREMENT PRIMARY KEY,"
      " run VARCHAR(40) NOT NULL, mode VARCHAR(16) NOT NULL, expiry INT NOT NULL,"
      " process INT NOT NULL, at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),"
      " KEY run_mode(run, mode)) ENGINE = InnoDB");
  run("CREATE TABLE IF NOT EXISTS Product(id BIGINT PRIMARY KEY, name VARCHAR(200) NOT NULL,"
      " price_cents BIGINT NOT NULL, revision BIGINT NOT NULL) ENGINE = InnoDB");
  std::string rows;
  for (int i = 1; i <= 100; ++i) {
    rows += fmt::format("{}({}, 'Product {}', {}, 0)", i == 1 ? "" : ",", i, i, 100 * i);
  }
  run("INSERT IGNORE INTO Product VALUES " + rows);
}

product mysql_origin::revise(std::int64_t revision) {
  product now = product_at(revision);
  run(fmt::format("UPDATE Product SET name = '{}', price_cents = {}, revision = {} WHERE id = {}",
                  now.name, now.price_cents, now.revision, now.id));
  return now;
}

void mysql_origin::log_load(load_label const& label) {
  run(
      fmt::format("INSERT INTO herdlock_demo_load(run, mode, expiry, process)"
                  " VALUES ('{}', '{}', {}, {})",
                  label.run, label.mode, label.expiry, ::getpid()));
}

product mysql_origin::load() {
  row const r = first_row(
      fmt::format("SELECT id, name, price_cents, revision, SLEEP({}) FROM Product WHERE id = {}",
                  static_cast<double>(load_time_.count()) / 1'000, hot_product_id));
  if (r.size() != 5) fail();
  return {std::atoll(r[0].c_str()), r[1], std::atoll(r[2].c_str()), std::atoll(r[3].c_str())};
}

std::int64_t mysql_origin::count_loads(load_label const& label) {
  row const r = first_row(
      fmt::format("SELECT COUNT(*) FROM herdlock_demo_load WHERE run = '{}' AND mode = '{}'",
                  label.run, label.mode));
  return std::atoll(r.at(0).c_str());
}

// Four fifths of what the server allows, so that others (and an administrator) still get in.
int mysql_origin::max_sessions() {
  row const r = first_row("SELECT @@max_connections");
  return std::max(1, std::atoi(r.at(0).c_str()) * 4 / 5);
}

}  // namespace

std::unique_ptr<origin_session> open_mysql_origin(store_url const& url, milliseconds load_time) {
  return std::make_unique<mysql_origin>(url, load_time);
}

}  // namespace herdlock::cli
