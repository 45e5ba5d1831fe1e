// What herdlock::herdlock adds to its components: every one that was built, known by default.
#include <herdlock/examination.hpp>
#include <herdlock/open.hpp>
#include <herdlock/store_opener.hpp>
#include <herdlock/survey.hpp>

#include <utility>

#include "stores/common/url_options.hpp"

namespace herdlock {
inline namespace v0 {
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

result<survey> survey_store(std::string_view url, survey_request const& request) {
  return all_stores().survey(url, request);
}

}  // namespace v0
}  // namespace herdlock

namespace herdlock::stores {

std::vector<scheme_options> all_options() {
  std::vector<scheme_options> all;
  for (auto const& of_one : {
           memory_options(),
           sqlite_options(),
#ifdef HERDLOCK_HAS_REDIS
           redis_options(),
#endif
#ifdef HERDLOCK_HAS_MYSQL
           mysql_options(),
#endif
#ifdef HERDLOCK_HAS_POSTGRES
           postgres_options(),
#endif
#ifdef HERDLOCK_HAS_ZOOKEEPER
           zookeeper_options(),
#endif
#ifdef HERDLOCK_HAS_ETCD
           etcd_options(),
#endif
       }) {
    all.insert(all.end(), of_one.begin(), of_one.end());
  }
  return all;
}

}  // namespace herdlock::stores
