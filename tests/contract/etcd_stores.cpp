#include <support/etcd_server.hpp>

#include "fixture.hpp"
#include "stores/etcd/etcd_store.hpp"

namespace herdlock_test {

void add_etcd_stores(std::vector<store_case>& stores) {
  stores.push_back({.name = "etcd",
                    .url =
                        [](auto const&) {
                          etcd_server::shared().flush();
                          return etcd_server::shared().url();
                        },
                    .open = &open_etcd,
                    .queues = true,
                    .keeps_values = false,
                    .brief = 300ms,
                    .counts_in = 1s});
}

}  // namespace herdlock_test
