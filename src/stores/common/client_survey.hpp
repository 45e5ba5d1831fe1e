// The survey of what the processes with caches report to each other, which is the same whatever
// store keeps the reports; and what surveys of all sources have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/survey.hpp>
#include <herdlock/url.hpp>
#include "algo/fleet_report.hpp"

namespace herdlock::stores {

/// The topic of a cache (cache/fleet/rules.hpp) is its prefix and this.
inline constexpr std::string_view topic_end = "hot-keys";
inline constexpr std::size_t most_topics = 1000;

class client_survey {
 public:
  explicit client_survey(survey_request const& request) : request_(request) {}

  /// Whether the topic is one of a cache that the request is about, and there is room for it.
  bool takes(std::string_view topic) const;
  /// The reports that are kept of a topic that was asked for.
  void add(std::string_view topic, std::vector<std::string_view> const& reports);
  /// Those of all caches, as they go to a collector (algo/fleet_report.hpp).
  void add_addressed(std::vector<std::string_view> const& reports);
  void note(std::string text) { made_.notes.push_back(std::move(text)); }
  /// `asked` says by which means: "3 commands".
  survey complete(std::string const& asked) &&;

 private:
  void sum_up(std::string_view prefix, std::vector<algo::fleet_report> reports);

  survey_request const& request_;
  survey made_;
  std::size_t topics_ = 0;
  std::uint64_t unread_ = 0;
};

/// Why a store has no source but `clients`.
failure needs_redis(store_url const& url, survey_source source);

void tell_progress(survey_request const& request, double done);

/// By rate, the greatest first; those of one rate stay as they are. At most so many are left.
void keep_greatest(std::vector<surveyed_key>& keys, std::size_t most);

/// `1 key`, `3 keys`.
std::string counted(std::uint64_t number, std::string const& what);

}  // namespace herdlock::stores
