// The PostgreSQL store in its modes, for the suites.
#include <support/postgres_server.hpp>

#include "fixture.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace herdlock_test {

void add_postgres_stores(std::vector<store_case>& stores) {
  for (std::string mode : {"table", "advisory", "row"}) {
    store_case kind{
        "postgres_" + mode,
        [mode](auto const&) { return postgres_server::shared().fresh_url() + "&mode=" + mode; },
        &open_postgres, true};
    kind.keeps_values = false;
    kind.brief = 100ms;
    kind.knows_age = mode == "table";
    stores.push_back(std::move(kind));
  }
}

}  // namespace herdlock_test
