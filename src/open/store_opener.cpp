#include <herdlock/store_opener.hpp>

#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/survey.hpp>
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

failure out_of_range(char const* field, std::string const& is, char const* range) {
  return make_failure(errc::invalid_value,
                      "survey_request::" + std::string(field) + " is " + is + "; use " + range);
}

failure check(survey_request const& request) {
  constexpr std::size_t most_keys = 1000;
  constexpr milliseconds shortest{10}, longest{60'000};
  constexpr std::uint64_t greatest_rate = 10'000'000;
  if (request.top < 1 || request.top > most_keys) {
    return out_of_range("top", std::to_string(request.top), "1 to 1000");
  }
  if (request.lasts < shortest || request.lasts > longest) {
    return out_of_range("lasts", std::to_string(request.lasts.count()) + " ms", "10 ms to 60 s");
  }
  if (request.most_a_second < 1 || request.most_a_second > greatest_rate) {
    return out_of_range("most_a_second", std::to_string(request.most_a_second), "1 to 10,000,000");
  }
  return {};
}

failure no_survey(store_url const& url) {
  return make_failure(errc::not_supported,
                      url.redacted() + ": a " + url.scheme +
                          ": store tells nothing of its reads, so it does not know which "
                          "keys are used; redis:, rediss:, redis+unix:, redis+sentinel:, "
                          "redis+cluster:, sqlite: and memory: do. In the program itself, use "
                          "cache::most_read");
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

result<survey> store_opener::survey(std::string_view text, survey_request const& request) const {
  auto url = store_url::parse(text);
  if (url.has_error()) return url.error();
  auto const scheme = find(*url);
  if (scheme.has_error()) return scheme.error();
  if (auto why = check(request); why.code) return why;
  if (!scheme->survey) return no_survey(*url);
  return scheme->survey(std::move(*url), request);
}

}  // namespace v0
}  // namespace herdlock
