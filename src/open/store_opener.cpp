#include <herdlock/store_opener.hpp>

#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>
#include <utility>

namespace herdlock {
inline namespace v0 {
namespace {

/// Where each scheme of ours is at home. Names only: this is the component that has no store.
struct home {
  std::string_view scheme;
  std::string_view component;
  std::string_view store;  ///< as in redis_schemes()
};

constexpr home homes[] = {
    {"memory", "core", "memory"},
    {"sqlite", "sqlite", "sqlite"},
    {"redis", "redis", "redis"},
    {"rediss", "redis", "redis"},
    {"redis+unix", "redis", "redis"},
    {"redis+sentinel", "redis", "redis"},
    {"rediss+sentinel", "redis", "redis"},
    {"redlock", "redis", "redis"},
    {"redis+cluster", "redis", "redis"},
    {"rediss+cluster", "redis", "redis"},
    {"mysql", "mysql", "mysql"},
    {"mariadb", "mysql", "mysql"},
    {"postgres", "postgres", "postgres"},
    {"postgresql", "postgres", "postgres"},
    {"zk", "zookeeper", "zookeeper"},
    {"etcd", "etcd", "etcd"},
    {"etcds", "etcd", "etcd"},
};

failure missing_component(home const& its, std::string const& known) {
  return make_failure(errc::not_built,
                      std::string(its.scheme) + ": URLs need the component herdlock::" +
                          std::string(its.component) + ", which this program is without (it has " +
                          known + "): link it, and name " + std::string(its.store) +
                          "_schemes() to the store_opener; herdlock::herdlock has all components " +
                          "that herdlock was built with");
}

}  // namespace

store_opener::store_opener(std::initializer_list<std::span<url_scheme const>> components) {
  for (auto const& schemes : components)
    schemes_.insert(schemes_.end(), schemes.begin(), schemes.end());
}

std::string store_opener::known() const {
  std::string text;
  for (auto const& scheme : schemes_) {
    text += (text.empty() ? "" : ", ") + std::string(scheme.name) + ":";
  }
  return text.empty() ? "none" : text;
}

result<url_scheme> store_opener::find(store_url const& url) const {
  for (auto const& scheme : schemes_) {
    if (scheme.name == url.scheme) return scheme;
  }
  for (auto const& its : homes) {
    if (its.scheme == url.scheme) return missing_component(its, known());
  }
  return make_failure(errc::unknown_scheme, "unknown scheme '" + url.scheme + ":' in store URL " +
                                                url.redacted() + "; use one of " + known());
}

result<store> store_opener::try_open(std::string_view text, open_options options) const {
  auto url = store_url::parse(text);
  if (url.has_error()) return url.error();
  auto const scheme = find(*url);
  if (scheme.has_error()) return scheme.error();
  auto const make = [&](asio::any_io_executor ex) { return scheme->open(*url, std::move(ex)); };
  return store::over(make, std::move(options));
}

store store_opener::open(std::string_view url, open_options options) const {
  return try_open(url, std::move(options)).value();
}

result<examination> store_opener::examine(std::string_view text) const {
  auto url = store_url::parse(text);
  if (url.has_error()) return url.error();
  auto const scheme = find(*url);
  if (scheme.has_error()) return scheme.error();
  return scheme->examine(std::move(*url));
}

}  // namespace v0
}  // namespace herdlock
