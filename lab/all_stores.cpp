// What herdlock-lab has: all stores and all origins that it was built with.
#include <herdlock/store_opener.hpp>

#include "scenes/origin.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {

store_opener const& stores() {
  static store_opener const all{
      memory_schemes(),    sqlite_schemes(),
#ifdef HERDLOCK_HAS_REDIS
      redis_schemes(),
#endif
#ifdef HERDLOCK_HAS_MYSQL
      mysql_schemes(),
#endif
#ifdef HERDLOCK_HAS_POSTGRES
      postgres_schemes(),
#endif
#ifdef HERDLOCK_HAS_ZOOKEEPER
      zookeeper_schemes(),
#endif
#ifdef HERDLOCK_HAS_ETCD
      etcd_schemes(),
#endif
  };
  return all;
}

std::span<origin_kind const> origins() {
  static origin_kind const all[] = {
      sqlite_origin,
#ifdef HERDLOCK_MYSQL_ORIGIN
      mysql_origin,
#endif
  };
  return all;
}

}  // namespace herdlock::lab
