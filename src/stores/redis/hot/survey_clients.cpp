#include <utility>
#include <vector>

#include <herdlock/report_store.hpp>
#include "algo/fleet_report.hpp"
#include "stores/common/client_survey.hpp"
#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/exchange/kept_reports.hpp"
#include "stores/redis/hot/survey_parts.hpp"
#include "stores/redis/hot/surveys.hpp"
#include "stores/redis/keys.hpp"

namespace herdlock::redis {

// All caches report to one collector, so their reports are in one place.
result<survey> survey_clients(surveyed_servers const& servers, survey_request const& request) {
  stores::client_survey made(request);
  auto const even = side_key_of(algo::hot_reports_topic, even_reports_role);
  auto const odd = side_key_of(algo::hot_reports_topic, odd_reports_role);
  auto const home = servers.home_of(even);
  if (!home) {
    made.note("nobody serves the slot of " + in_quotes(even));
    return std::move(made).complete(counted(0, "command"));
  }
  asking_client client(servers.masters[*home]);
  auto const answers = client.ask({{"HGETALL", even}, {"HGETALL", odd}});
  if (!answers) return answers.error();
  tell_progress(request, 0.5);
  std::vector<std::string_view> texts;
  for (reply const& reports : *answers) {
    if (reports.text().starts_with("WRONGTYPE")) {
      made.note(in_quotes(even) + " or " + in_quotes(odd) +
                " holds a value of another type, so nobody can report there; delete it");
    } else if (reports.is_error()) {
      return refused(client.how(), reports.text(),
                     {.name = "HGETALL",
                      .serves = "reads " + in_quotes(even),
                      .right = "+hgetall ~{herdlock}:herdlock:*",
                      .instead = "ask another source: lfu, monitor"});
    } else {
      auto const kept = kept_reports(reports);
      texts.insert(texts.end(), kept.begin(), kept.end());
    }
  }
  made.add_addressed(texts);
  return std::move(made).complete(counted(answers->size(), "command"));
}

}  // namespace herdlock::redis
