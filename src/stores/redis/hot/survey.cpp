#include <utility>

#include <herdlock/survey.hpp>
#include "stores/redis/hot/survey_parts.hpp"
#include "stores/redis/hot/surveys.hpp"
#include "stores/redis/redis_store.hpp"

namespace herdlock {
namespace {

using redis::surveyed_servers;

result<survey> survey_by_source(surveyed_servers const& servers, survey_request const& request) {
  switch (request.source) {
    case survey_source::clients:
      return redis::survey_clients(servers, request);
    case survey_source::monitor:
      return redis::survey_monitor(servers, request);
    case survey_source::lfu:
      return redis::survey_lfu(servers, request);
    case survey_source::server:
      return redis::survey_hotkeys(servers, request);
  }
  return make_failure(errc::invalid_value, "survey_request::source is none of the four");
}

result<survey> survey_servers(result<surveyed_servers> const& servers,
                              survey_request const& request) {
  if (servers.has_error()) return servers.error();
  auto made = survey_by_source(*servers, request);
  if (made.has_error()) return made;
  if (request.with_sizes && !made->keys.empty()) {
    redis::add_sizes(*servers, request.source, *made);
  }
  redis::tell_progress(request, 1);
  return made;
}

}  // namespace

result<survey> survey_redis(store_url url, survey_request const& request) {
  auto how = redis::parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  return survey_servers(redis::find_servers(*std::move(how)), request);
}

result<survey> survey_redis_cluster(store_url url, survey_request const& request) {
  auto const seeds = stores::hosts_of(url, 6379);
  auto how = redis::parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  if (auto why = redis::refuse_single_server_options(*how); why.code) return why;
  return survey_servers(redis::find_cluster_servers(*how, seeds), request);
}

}  // namespace herdlock
