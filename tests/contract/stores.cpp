#include "fixture.hpp"
#include "stores/memory/memory_store.hpp"
#include "stores/sqlite/sqlite_store.hpp"
#ifdef HERDLOCK_REDIS
#include <support/redis_cluster.hpp>
#include <support/redis_nodes.hpp>
#include <support/redis_sentinels.hpp>
#include <support/redis_server.hpp>

#include "stores/redis/cluster/cluster_store.hpp"
#include "stores/redis/redis_store.hpp"
#include "stores/redis/redlock/redlock_store.hpp"
#endif

namespace herdlock_test {
namespace {

// What is tested here ends by its own deadlines, never by that of a server on a busy machine.
std::string const patient = "?timeout=20s";

}  // namespace

std::vector<store_case> all_stores() {
  std::vector<store_case> stores;
  stores.push_back({"memory",
                    [](auto const&) {
                      static std::atomic<int> number{0};
                      return "memory:contract-" + std::to_string(++number);
                    },
                    &open_memory, true, true});
  stores.back().knows_age = true;
  stores.back().exchanges = true;
  stores.push_back({"sqlite",
                    [](auto const& scratch) { return "sqlite:" + (scratch / "store.db").string(); },
                    &open_sqlite});
  stores.back().knows_age = true;
  stores.back().exchanges = true;
#ifdef HERDLOCK_REDIS
  stores.push_back({"redis",
                    [](auto const&) {
                      redis_server::shared().flush();
                      return redis_server::shared().url() + patient;
                    },
                    &open_redis, true, true});
  stores.back().exchanges = true;
  for (std::string dialect : {"plain", "getset"}) {
    stores.push_back({"redis_" + dialect,
                      [dialect](auto const&) {
                        redis_server::shared().flush();
                        return redis_server::shared().url() + patient +
                               "&prefix=lease:&dialect=" + dialect;
                      },
                      &open_redis, false, false, false, false, dialect != "getset"});
  }
  stores.push_back({"redis_cluster",
                    [](auto const&) {
                      redis_cluster::shared().flush();
                      return redis_cluster::shared().url() + patient;
                    },
                    &open_redis_cluster, true, true});
  stores.back().exchanges = true;
  stores.push_back({"redlock",
                    [](auto const&) {
                      redis_nodes::shared().reset();
                      return redis_nodes::shared().url();
                    },
                    &open_redlock, false, false, true, false, true, 600ms});
  // Started when the first test asks for it.
  stores.push_back({"redis_sentinel",
                    [](auto const&) {
                      static redis_sentinels group({.down_after = never_down});
                      group.flush();
                      return group.url() + patient + "&wait_replicas=1";
                    },
                    &open_redis, true, true});
  stores.back().exchanges = true;
#endif
#ifdef HERDLOCK_MYSQL
  add_mysql_stores(stores);
#endif
#ifdef HERDLOCK_ETCD
  add_etcd_stores(stores);
#endif
#ifdef HERDLOCK_POSTGRES
  add_postgres_stores(stores);
#endif
#ifdef HERDLOCK_ZOOKEEPER
  add_zookeeper_stores(stores);
#endif
  return stores;
}

}  // namespace herdlock_test
