#include <deque>
#include <set>
#include <utility>
#include <vector>

#include <herdlock/report_store.hpp>
#include "stores/common/client_survey.hpp"
#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/exchange/kept_reports.hpp"
#include "stores/redis/hot/glob.hpp"
#include "stores/redis/hot/survey_parts.hpp"
#include "stores/redis/hot/surveys.hpp"
#include "stores/redis/keys.hpp"

namespace herdlock::redis {
namespace {

using stores::most_topics;
using stores::topic_end;

// Of a channel of reports; nothing when it is none.
std::optional<std::string> topic_of(std::string_view channel, std::string const& role) {
  std::string const end = ":herdlock:" + role;
  if (!channel.ends_with(end)) return std::nullopt;
  std::string_view topic = channel.substr(0, channel.size() - end.size());
  if (topic.ends_with(':')) {  // it has a hash tag of its own
    topic.remove_suffix(1);
  } else if (topic.size() > 2 && topic.starts_with('{') && topic.ends_with('}')) {
    topic = topic.substr(1, topic.size() - 2);
  }
  bool const is_one = topic.ends_with(topic_end) && side_key_of(topic, role) == channel;
  return is_one ? std::optional(std::string(topic)) : std::nullopt;
}

class survey_of_servers {
 public:
  survey_of_servers(surveyed_servers const& servers, survey_request const& request)
      : servers_(servers), request_(request), made_(request) {
    for (auto const& server : servers.masters) clients_.emplace_back(server);
  }

  result<survey> make() {
    if (auto why = find_topics(); why.code) return why;
    tell_progress(request_, 0.5);
    for (auto const& topic : topics_) {
      if (auto why = ask_for_reports(topic); why.code) return why;
    }
    return std::move(made_).complete(counted(commands_, "command"));
  }

 private:
  // A cache listens to the reports of the others, at whichever node.
  failure find_topics() {
    if (!request_.prefix.empty()) {
      topics_.insert(request_.prefix + std::string(topic_end));
      return {};
    }
    auto const role = events_role(servers_.masters.front().database) + ":reports";
    auto const glob = "*" + escape_glob(topic_end) + "*:herdlock:" + escape_glob(role);
    for (auto& client : clients_) {
      auto const answers = client.ask({{"PUBSUB", "CHANNELS", glob}});
      if (!answers) return answers.error();
      ++commands_;
      reply const& channels = answers->at(0);
      if (channels.is_error()) {
        return refused(
            client.how(), channels.text(),
            {.name = "PUBSUB CHANNELS",
             .serves = "finds the caches",
             .right = "+pubsub|channels",
             .instead = "name the prefix of a cache (survey_request::prefix, --prefix)"});
      }
      for (std::size_t i = 1; i < channels.nodes(); ++i) {
        auto topic = topic_of(channels.text(i), role);
        if (topic && topics_.size() < most_topics) topics_.insert(*std::move(topic));
      }
    }
    return {};
  }

  failure ask_for_reports(std::string const& topic) {
    auto const even = side_key_of(topic, even_reports_role);
    auto const odd = side_key_of(topic, odd_reports_role);
    auto const home = servers_.home_of(even);
    if (!home) {
      made_.note("nobody serves the slot of " + in_quotes(topic));
      return {};
    }
    auto& client = clients_[*home];
    auto const answers = client.ask({{"HGETALL", even}, {"HGETALL", odd}});
    if (!answers) return answers.error();
    commands_ += answers->size();
    std::vector<std::string_view> texts;
    for (reply const& reports : *answers) {
      if (reports.text().starts_with("WRONGTYPE")) {
        made_.note(in_quotes(even) + " or " + in_quotes(odd) +
                   " holds a value of another type, so nobody can report there; delete it");
        return {};
      }
      if (reports.is_error()) {
        return refused(client.how(), reports.text(),
                       {.name = "HGETALL",
                        .serves = "reads " + in_quotes(even),
                        .right = "+hgetall ~*",
                        .instead = "ask another source: lfu, monitor"});
      }
      auto const kept = kept_reports(reports);
      texts.insert(texts.end(), kept.begin(), kept.end());
    }
    made_.add(topic, texts);
    return {};
  }

  surveyed_servers const& servers_;
  survey_request const& request_;
  std::deque<asking_client> clients_;
  std::set<std::string> topics_;
  stores::client_survey made_;
  std::uint64_t commands_ = 0;
};

}  // namespace

result<survey> survey_clients(surveyed_servers const& servers, survey_request const& request) {
  return survey_of_servers(servers, request).make();
}

}  // namespace herdlock::redis
