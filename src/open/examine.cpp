#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

#include "stores/memory/examination.hpp"
#include "stores/sqlite/examination.hpp"
#ifdef HERDLOCK_HAS_REDIS
#include "stores/redis/examination.hpp"
#endif
#ifdef HERDLOCK_HAS_MYSQL
#include "stores/mysql/examination.hpp"
#endif
#ifdef HERDLOCK_HAS_POSTGRES
#include "stores/postgres/examination.hpp"
#endif
#ifdef HERDLOCK_HAS_ZOOKEEPER
#include "stores/zookeeper/examination.hpp"
#endif
#ifdef HERDLOCK_HAS_ETCD
#include "stores/etcd/examination.hpp"
#endif

namespace herdlock {
namespace {

using examine_one = result<examination> (*)(store_url);

struct scheme_entry {
  std::string_view scheme;
  examine_one examine;
};

constexpr scheme_entry schemes[] = {
    {"memory", examine_memory},
    {"sqlite", examine_sqlite},
#ifdef HERDLOCK_HAS_REDIS
    {"redis", examine_redis},
    {"rediss", examine_redis},
    {"redis+unix", examine_redis},
    {"redis+sentinel", examine_redis},
    {"rediss+sentinel", examine_redis},
    {"redlock", examine_redlock},
    {"redis+cluster", examine_redis_cluster},
    {"rediss+cluster", examine_redis_cluster},
#endif
#ifdef HERDLOCK_HAS_MYSQL
    {"mysql", examine_mysql},
    {"mariadb", examine_mysql},
#endif
#ifdef HERDLOCK_HAS_POSTGRES
    {"postgres", examine_postgres},
    {"postgresql", examine_postgres},
#endif
#ifdef HERDLOCK_HAS_ZOOKEEPER
    {"zk", examine_zookeeper},
#endif
#ifdef HERDLOCK_HAS_ETCD
    {"etcd", examine_etcd},
    {"etcds", examine_etcd},
#endif
};

}  // namespace

result<examination> examine_store(std::string_view text) {
  auto url = store_url::parse(text);
  if (url.has_error()) return url.error();
  for (auto const& entry : schemes) {
    if (entry.scheme == url->scheme) return entry.examine(std::move(*url));
  }
  return make_failure(errc::unknown_scheme,
                      "nothing is known about examining " + url->scheme + ": in this build");
}

}  // namespace herdlock
