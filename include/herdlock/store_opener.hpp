// Opening stores by URL in a program that says which components it has.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/open.hpp>
#include <herdlock/url_scheme.hpp>

namespace herdlock {
inline namespace v0 {

/// Opens what its components know, and nothing else. A program that links herdlock::redis alone
/// needs no other client library:
///
///     herdlock::store_opener const stores{herdlock::redis_schemes()};
///     herdlock::store store = stores.open("redis://localhost");
///
/// open_store() does the same with all components that herdlock was built with, where
/// herdlock::herdlock is linked, which has them all. Without it open_store() knows `memory:` alone,
/// and fails with errc::not_built for the rest; the message says what to do.
class store_opener {
 public:
  /// If two components know one scheme, the first counts.
  store_opener(std::initializer_list<std::span<url_scheme const>> components);

  /// As open_store(). A URL of another component fails with errc::not_built, and the message names
  /// it.
  store open(std::string_view url, open_options options = {}) const;
  /// The same without an exception.
  result<store> try_open(std::string_view url, open_options options = {}) const;
  /// As examine_store().
  result<examination> examine(std::string_view url) const;
  /// As survey_store().
  result<v0::survey> survey(std::string_view url, survey_request const& request) const;

 private:
  result<url_scheme> find(store_url const& url) const;
  std::string known() const;

  std::vector<url_scheme> schemes_;
};

}  // namespace v0
}  // namespace herdlock
