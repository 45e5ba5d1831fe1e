#include <fmt/format.h>
#include <mysql.h>

#include "scenes/origin.hpp"

namespace herdlock::lab {
namespace {

database open(store_url const& url) {
  std::string const name = url.path.size() > 1 ? url.path.substr(1) : "";
  if (url.host.empty() || name.empty() || name.find('/') != std::string::npos) {
    throw command_error(exit_code::usage,
                        fmt::format("origin {}: needs a host and a database, as in "
                                    "mysql://user:password@127.0.0.1:3306/demo",
                                    url.redacted()));
  }
  std::shared_ptr<MYSQL> const shared(mysql_init(nullptr), mysql_close);
  auto* const connection = shared.get();
  auto const require = [connection, shown = url.redacted()](bool is_done) {
    if (is_done) return;
    throw command_error(exit_code::unavailable,
                        fmt::format("origin {}: {}; check that the server runs, and its user, "
                                    "password and database",
                                    shown, mysql_error(connection)));
  };
  unsigned int const seconds = 5;
  mysql_options(connection, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  require(mysql_real_connect(connection, url.host.c_str(), url.user.c_str(), url.password.c_str(),
                             name.c_str(), url.port.value_or(3306), nullptr, 0) != nullptr);
  return [shared, connection, require](std::string const& sql) {
    require(mysql_real_query(connection, sql.data(), sql.size()) == 0);
    std::shared_ptr<MYSQL_RES> const rows(mysql_store_result(connection), mysql_free_result);
    require(rows || mysql_errno(connection) == 0);
    MYSQL_ROW const first = rows ? mysql_fetch_row(rows.get()) : nullptr;
    std::vector<std::string> row;
    if (!first) return row;
    unsigned long const* const lengths = mysql_fetch_lengths(rows.get());
    for (unsigned i = 0; i < mysql_num_fields(rows.get()); ++i) {
      row.emplace_back(first[i] ? first[i] : "", lengths[i]);
    }
    return row;
  };
}

}  // namespace

origin_kind const mysql_origin{
    .scheme = "mysql",
    .example = "mysql://user:password@host:port/database",
    .open = open,
    .tables =
        "(SELECT table_name AS name FROM information_schema.tables"
        " WHERE table_schema = DATABASE()) AS there",
    .counted = "BIGINT AUTO_INCREMENT PRIMARY KEY",
    .now = "DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), KEY run_mode(run, mode)",
    .insert_unless_there = "INSERT IGNORE",
    // Four fifths of what the server allows, so that others (and an administrator) still get in.
    .most_sessions = "@@max_connections * 4 DIV 5",
};

}  // namespace herdlock::lab
