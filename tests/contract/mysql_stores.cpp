// MariaDB in its three modes, for the suites.

#include <support/mariadb_server.hpp>

#include "fixture.hpp"

#include "stores/mysql/mysql_store.hpp"

namespace herdlock_test {

void add_mysql_stores(std::vector<store_case>& stores) {
  for (std::string mode : {"table", "row", "named"}) {
    store_case kind;
    kind.name = "mysql_" + mode;
    // A database of its own for each test. Named locks are the server's, whatever the database.
    kind.url = [mode](auto const&) {
      static std::atomic<int> number{0};
      auto& server = mariadb_server::shared();
      return server.url("contract_" + std::to_string(++number)) + "?mode=" + mode;
    };
    kind.open = &open_mysql;
    kind.queues = mode != "table";
    kind.keeps_values = false;
    kind.brief = 200ms;
    kind.knows_age = true;
    stores.push_back(std::move(kind));
  }
}

}  // namespace herdlock_test
