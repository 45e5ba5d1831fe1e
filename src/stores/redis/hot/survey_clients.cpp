#include <utility>
#include <vector>

#include <herdlock/report_store.hpp>
#include "algo/addressed_report.hpp"
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
  std::vector<std::string> kept;
  std::size_t commands = 0;
  for (auto const& key : {even, odd}) {
    for (std::string cursor = "0"; !cursor.empty(); ++commands) {
      auto const answers =
          client.ask({{"HSCAN", key, cursor, "COUNT", std::string(reports_in_a_part)}});
      if (!answers) return answers.error();
      reply const& reports = answers->front();
      if (reports.is_error() && !reports.text().starts_with("WRONGTYPE")) {
        return refused(client.how(), reports.text(),
                       {.name = "HSCAN",
                        .serves = "reads " + in_quotes(key),
                        .right = "+hscan ~{herdlock}:herdlock:*",
                        .instead = "ask another source: lfu, monitor"});
      }
      cursor.clear();
      if (!is_part_of_reports(reports)) {
        made.note(in_quotes(key) +
                  " holds a value of another type, so nobody can report there; delete it");
        continue;
      }
      auto const part = reports_in(reports);
      kept.insert(kept.end(), part.texts.begin(), part.texts.end());
      if (part.next != "0") cursor = part.next;
    }
    tell_progress(request, 0.5);
  }
  made.add_addressed({kept.begin(), kept.end()});
  return std::move(made).complete(counted(commands, "command"));
}

}  // namespace herdlock::redis
