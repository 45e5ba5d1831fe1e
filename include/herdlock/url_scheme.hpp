// The schemes of store URLs, as each component adds them to a program.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <span>
#include <string_view>

#include <herdlock/error.hpp>

namespace herdlock {
inline namespace v0 {

struct backend;      // herdlock/backend.hpp
struct examination;  // herdlock/examination.hpp
struct store_url;    // herdlock/url.hpp
struct survey;       // herdlock/survey.hpp
struct survey_request;

/// The meaning of a store URL that begins with `name:`. A store of your own may have one, too.
struct url_scheme {
  std::string_view name;
  /// Called with a URL of this scheme; fails with errc::invalid_url for what it cannot read.
  result<backend> (*open)(store_url url, boost::asio::any_io_executor executor);
  /// As examine_store() says.
  result<examination> (*examine)(store_url url);
  /// As survey_store() says; null where the store does not know which keys are used.
  result<v0::survey> (*survey)(store_url url, survey_request const& request) = nullptr;
};

/// For a store_opener; each is in the component (of CMake: the target) of its name, and there only
/// where herdlock was built with it.
std::span<url_scheme const> memory_schemes();  // herdlock::core
std::span<url_scheme const> sqlite_schemes();
std::span<url_scheme const> redis_schemes();  // with Sentinel, Cluster, Redlock
std::span<url_scheme const> mysql_schemes();
std::span<url_scheme const> postgres_schemes();
std::span<url_scheme const> zookeeper_schemes();
std::span<url_scheme const> etcd_schemes();

}  // namespace v0
}  // namespace herdlock
