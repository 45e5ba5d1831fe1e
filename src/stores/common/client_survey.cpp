#include "stores/common/client_survey.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "algo/fleet_report.hpp"
#include "algo/hot_fleet.hpp"

namespace herdlock::stores {
namespace {

surveyed_key row_of(algo::fleet_sum const& sum, std::string_view prefix, std::size_t reporters) {
  surveyed_key one;
  one.key = std::string(prefix) + sum.key;
  one.cut = sum.key.size() >= algo::fleet_report::most_key_bytes;
  one.low = double(sum.low + sum.writes);
  one.high = double(sum.high + sum.writes);
  one.rate = one.low;
  one.reads = double(sum.low);
  one.writes = double(sum.writes);
  one.processes = sum.processes;
  one.reporters = reporters;
  one.kept_by = sum.kept_by;
  if (sum.kept_ms > 0) one.kept_for = milliseconds(sum.kept_ms);
  return one;
}

std::string asks_by(survey_source source) {
  switch (source) {
    case survey_source::clients:
      return "clients asks for what caches report";
    case survey_source::monitor:
      return "monitor listens to a Redis server (MONITOR)";
    case survey_source::lfu:
      return "lfu reads the counters of a Redis server (OBJECT FREQ)";
    case survey_source::server:
      return "server asks a Redis or Valkey server (HOTKEYS)";
  }
  return "this is none of the four";
}

}  // namespace

bool client_survey::takes(std::string_view topic) const {
  if (topics_ >= most_topics || !topic.ends_with(topic_end)) return false;
  return request_.prefix.empty() || topic == request_.prefix + std::string(topic_end);
}

void client_survey::add(std::string_view topic, std::vector<std::string_view> const& reports) {
  std::vector<algo::fleet_report> read;
  for (auto const text : reports) {
    auto report = algo::decode_report(text);
    if (!report) ++unread_;
    if (report) read.push_back(*std::move(report));
  }
  sum_up(topic.substr(0, topic.size() - topic_end.size()), std::move(read));
}

void client_survey::add_addressed(std::vector<std::string_view> const& reports) {
  std::map<std::string, std::vector<algo::fleet_report>> by_prefix;
  for (auto const text : reports) {
    auto one = algo::decode_addressed_report(text);
    if (!one) ++unread_;
    bool const is_asked = one && (request_.prefix.empty() || request_.prefix == one->prefix);
    if (is_asked) by_prefix[one->prefix].push_back(std::move(one->report));
  }
  for (auto& [prefix, all] : by_prefix) {
    if (topics_ < most_topics) sum_up(prefix, std::move(all));
  }
}

void client_survey::sum_up(std::string_view prefix, std::vector<algo::fleet_report> reports) {
  ++topics_;
  auto const now = clock::now();
  // A hot key was called so by a process: their own thresholds count.
  algo::hot_fleet fleet({.threshold = algo::fleet_report::most_uses});
  for (auto& report : reports) {
    if (fleet.hear(std::move(report), now) == algo::fleet_hearing::refused) ++unread_;
  }
  fleet.advance(now);
  made_.processes = std::max(made_.processes, fleet.processes());
  for (auto const& sum : fleet.top(request_.top)) {
    made_.keys.push_back(row_of(sum, prefix, fleet.processes()));
  }
}

survey client_survey::complete(std::string const& asked) && {
  keep_greatest(made_.keys, request_.top);
  made_.cost = asked + ": the reports of " + counted(topics_, "cache") + " were read";
  if (unread_ > 0) {
    note(counted(unread_, "report") +
         " could not be taken: it is of another version of herdlock, or of a "
         "process beyond 1024");
  }
  if (topics_ >= most_topics) note("only 1000 caches are shown; name a prefix");
  if (made_.processes == 0) {
    note(
        "no process has reported lately: a cache begins to when it reads a key at a hundredth of "
        "its hot.fleet_threshold, and stops some seconds after it has stopped reading");
  }
  return std::move(made_);
}

failure needs_redis(store_url const& url, survey_source source) {
  return make_failure(errc::not_supported,
                      url.redacted() + ": the source " + asks_by(source) + ", and a " + url.scheme +
                          ": store has none; use the source clients, which tells what its "
                          "caches read, or the URL of a Redis store");
}

void tell_progress(survey_request const& request, double done) {
  if (request.on_progress) request.on_progress(std::clamp(done, 0.0, 1.0));
}

void keep_greatest(std::vector<surveyed_key>& keys, std::size_t most) {
  std::stable_sort(keys.begin(), keys.end(),
                   [](surveyed_key const& a, surveyed_key const& b) { return a.rate > b.rate; });
  if (keys.size() > most) keys.resize(most);
}

std::string counted(std::uint64_t number, std::string const& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace herdlock::stores
