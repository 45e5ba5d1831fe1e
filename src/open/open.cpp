#include <herdlock/open.hpp>
#include <herdlock/url.hpp>

#include "runtime/store_context.hpp"
#include "stores/memory/memory_store.hpp"
#include "stores/sqlite/sqlite_store.hpp"
#ifdef HERDLOCK_HAS_REDIS
#include "stores/redis/cluster_store.hpp"
#include "stores/redis/redis_store.hpp"
#include "stores/redis/redlock_store.hpp"
#endif
#ifdef HERDLOCK_HAS_MYSQL
#include "stores/mysql/mysql_store.hpp"
#endif
#ifdef HERDLOCK_HAS_POSTGRES
#include "stores/postgres/postgres_store.hpp"
#endif
#ifdef HERDLOCK_HAS_ZOOKEEPER
#include "stores/zookeeper/zookeeper_store.hpp"
#endif
#ifdef HERDLOCK_HAS_ETCD
#include "stores/etcd/etcd_store.hpp"
#endif

namespace herdlock {
namespace {

using open_backend = result<backend> (*)(store_url, asio::any_io_executor);

// nullptr: known, but left out of this build.
struct scheme_entry {
  std::string_view scheme;
  open_backend open;
};

#ifdef HERDLOCK_HAS_REDIS
constexpr open_backend redis = open_redis;
constexpr open_backend redlock = open_redlock;
constexpr open_backend redis_cluster = open_redis_cluster;
#else
constexpr open_backend redis = nullptr;
constexpr open_backend redlock = nullptr;
constexpr open_backend redis_cluster = nullptr;
#endif

#ifdef HERDLOCK_HAS_MYSQL
constexpr open_backend mysql = open_mysql;
#else
constexpr open_backend mysql = nullptr;
#endif
#ifdef HERDLOCK_HAS_POSTGRES
constexpr open_backend postgres = open_postgres;
#else
constexpr open_backend postgres = nullptr;
#endif
#ifdef HERDLOCK_HAS_ZOOKEEPER
constexpr open_backend zookeeper = open_zookeeper;
#else
constexpr open_backend zookeeper = nullptr;
#endif
#ifdef HERDLOCK_HAS_ETCD
constexpr open_backend etcd = open_etcd;
#else
constexpr open_backend etcd = nullptr;
#endif

constexpr scheme_entry schemes[] = {
    {"memory", open_memory},
    {"sqlite", open_sqlite},
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
    if (entry.open == nullptr) continue;
    text += (text.empty() ? "" : ", ") + std::string(entry.scheme) + ":";
  }
  return text;
}

result<scheme_entry> find_scheme(store_url const& url) {
  for (auto const& entry : schemes) {
    if (entry.scheme != url.scheme) continue;
    if (entry.open != nullptr) return entry;
    return make_failure(errc::not_built, "this herdlock was built without support for " +
                                             url.scheme + ": (it has " + known_schemes() + ")");
  }
  return make_failure(errc::unknown_scheme, "unknown scheme '" + url.scheme + ":' in store URL " +
                                                url.redacted() + "; use one of " + known_schemes());
}

}  // namespace

result<store> store::over(backend_factory const& make, open_options options) {
  auto context = detail::store_context::open(make, options);
  if (context.has_error()) return context.error();
  return store(std::move(*context));
}

asio::any_io_executor store::get_executor() const { return context_->executor(); }
std::string const& store::display_name() const { return context_->core()->display_name(); }
store_traits const& store::traits() const { return context_->core()->traits(); }
std::vector<std::string> store::warnings() const { return context_->core()->warnings(); }
store_metrics store::metrics() const { return context_->core()->metrics(); }

result<store> try_open_store(std::string_view text, open_options options) {
  auto url = store_url::parse(text);
  if (url.has_error()) return url.error();
  auto const entry = find_scheme(*url);
  if (entry.has_error()) return entry.error();
  auto const make = [&](asio::any_io_executor ex) { return entry->open(*url, std::move(ex)); };
  return store::over(make, std::move(options));
}

store open_store(std::string_view url, open_options options) {
  return try_open_store(url, std::move(options)).value();
}

}  // namespace herdlock
