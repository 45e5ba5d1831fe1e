// What herdlock::herdlock adds to its components: every one that was built, known by default.
#include <herdlock/examination.hpp>
#include <herdlock/open.hpp>
#include <herdlock/store_opener.hpp>

#include <utility>

namespace herdlock {
namespace {

store_opener all_stores() {
  return {
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
}

}  // namespace

result<store> try_open_store(std::string_view url, open_options options) {
  return all_stores().try_open(url, std::move(options));
}

store open_store(std::string_view url, open_options options) {
  return all_stores().open(url, std::move(options));
}

result<examination> examine_store(std::string_view url) { return all_stores().examine(url); }

}  // namespace herdlock
