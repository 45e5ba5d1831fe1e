// What the fault tests of MariaDB share.
#pragma once

#include <support/child_process.hpp>
#include <support/mariadb_server.hpp>
#include <support/relay.hpp>

#include "../contract/fixture.hpp"
#include "stores/mysql/mysql_store.hpp"

namespace herdlock_test {

/// A database of its own for each call.
inline std::string mysql_url(std::string const& mode, std::string const& more = "") {
  static int number = 0;
  return mariadb_server::shared().url("port_" + std::to_string(++number)) + "?mode=" + mode + more;
}

inline std::string mysql_database(std::string const& url) {
  auto const begin = url.rfind('/') + 1;
  return url.substr(begin, url.find('?') - begin);
}

/// The same through a relay.
inline std::string mysql_through(relay const& wire, std::string url) {
  std::string const port = std::to_string(mariadb_server::shared().port());
  return url.replace(url.find(port), port.size(), std::to_string(wire.port()));
}

/// A foreign session: statements go in, each answers at least one line.
class mysql_session_by_hand {
 public:
  explicit mysql_session_by_hand(std::string const& url)
      : child_({.argv = {find_program("mariadb", "mariadb-client"), "--no-defaults",
                         "--protocol=tcp", "--host=127.0.0.1",
                         "--port=" + std::to_string(mariadb_server::shared().port()), "--user=root",
                         "--batch", "--skip-column-names", "--unbuffered",
                         "--database=" + mysql_database(url)},
                .input = process_input::pipe}) {}

  /// Runs it, and waits until it has run.
  void run(std::string const& statement) {
    std::string const mark = "done " + std::to_string(++runs_);
    child_.write_line(statement + "; SELECT '" + mark + "';");
    EXPECT_TRUE(eventually([&] { return child_.output().find(mark) != std::string::npos; }))
        << statement << child_.errors();
  }

 private:
  child_process child_;
  int runs_ = 0;
};

}  // namespace herdlock_test
