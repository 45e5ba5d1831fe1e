#include "open/schemes.hpp"

#include <string>

#include "stores/memory/examination.hpp"
#include "stores/memory/memory_store.hpp"
#include "stores/sqlite/examination.hpp"
#include "stores/sqlite/sqlite_store.hpp"
#ifdef HERDLOCK_HAS_REDIS
#include "stores/redis/cluster_store.hpp"
#include "stores/redis/examination.hpp"
#include "stores/redis/redis_store.hpp"
#include "stores/redis/redlock_store.hpp"
#endif
#ifdef HERDLOCK_HAS_MYSQL
#include "stores/mysql/examination.hpp"
#include "stores/mysql/mysql_store.hpp"
#endif
#ifdef HERDLOCK_HAS_POSTGRES
#include "stores/postgres/examination.hpp"
#include "stores/postgres/postgres_store.hpp"
#endif
#ifdef HERDLOCK_HAS_ZOOKEEPER
#include "stores/zookeeper/examination.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"
#endif
#ifdef HERDLOCK_HAS_ETCD
#include "stores/etcd/etcd_store.hpp"
#include "stores/etcd/examination.hpp"
#endif

namespace herdlock::detail {
namespace {

struct scheme_entry {
  std::string_view scheme;
  store_kind kind;
};

#ifdef HERDLOCK_HAS_REDIS
constexpr store_kind redis{open_redis, examine_redis};
constexpr store_kind redlock{open_redlock, examine_redlock};
constexpr store_kind redis_cluster{open_redis_cluster, examine_redis_cluster};
#else
constexpr store_kind redis{};
constexpr store_kind redlock{};
constexpr store_kind redis_cluster{};
#endif
#ifdef HERDLOCK_HAS_MYSQL
constexpr store_kind mysql{open_mysql, examine_mysql};
#else
constexpr store_kind mysql{};
#endif
#ifdef HERDLOCK_HAS_POSTGRES
constexpr store_kind postgres{open_postgres, examine_postgres};
#else
constexpr store_kind postgres{};
#endif
#ifdef HERDLOCK_HAS_ZOOKEEPER
constexpr store_kind zookeeper{open_zookeeper, examine_zookeeper};
#else
constexpr store_kind zookeeper{};
#endif
#ifdef HERDLOCK_HAS_ETCD
constexpr store_kind etcd{open_etcd, examine_etcd};
#else
constexpr store_kind etcd{};
#endif

constexpr scheme_entry schemes[] = {
    {"memory", {open_memory, examine_memory}},
    {"sqlite", {open_sqlite, examine_sqlite}},
    {"redis", redis},
    {"rediss", redis},
    {"redis+unix", redis},
    {"redis+sentinel", redis},
    {"rediss+sentinel", redis},
    {"redlock", redlock},
    {"redis+cluster", redis_cluster},
    {"rediss+cluster", redis_cluster},
    {"mysql", mysql},
    {"mariadb", mysql},
    {"postgres", postgres},
    {"postgresql", postgres},
    {"zk", zookeeper},
    {"etcd", etcd},
    {"etcds", etcd},
};

std::string known_schemes() {
  std::string text;
  for (auto const& entry : schemes) {
    if (entry.kind.open == nullptr) continue;
    text += (text.empty() ? "" : ", ") + std::string(entry.scheme) + ":";
  }
  return text;
}

}  // namespace

result<store_kind> find_scheme(store_url const& url) {
  for (auto const& entry : schemes) {
    if (entry.scheme != url.scheme) continue;
    if (entry.kind.open != nullptr) return entry.kind;
    return make_failure(errc::not_built, "this herdlock was built without support for " +
                                             url.scheme + ": (it has " + known_schemes() + ")");
  }
  return make_failure(errc::unknown_scheme, "unknown scheme '" + url.scheme + ":' in store URL " +
                                                url.redacted() + "; use one of " + known_schemes());
}

}  // namespace herdlock::detail
