#include <algorithm>
#include <deque>
#include <utility>

#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/hot/hotkeys_reply.hpp"
#include "stores/redis/hot/survey_parts.hpp"
#include "stores/redis/hot/surveys.hpp"

namespace herdlock::redis {
namespace {

constexpr std::size_t most_hotkeys = 64;  // COUNT of Redis

needed_command hotkeys_command() {
  return {.name = "HOTKEYS",
          .serves = "Redis 8.6 and Valkey 9.2 have (there CONFIG SET hotkey-top-k 16 begins it)",
          .right = "+hotkeys",
          .instead = "ask another source: clients, lfu, monitor"};
}

// The server knows no prefix: keys of others that are hotter would be all that it tells of.
std::size_t wanted_hotkeys(survey_request const& request) {
  return request.prefix.empty() ? std::min(request.top, most_hotkeys) : most_hotkeys;
}

/// One server. In Redis it counts only during a session, of which there is one for all clients; in
/// Valkey always, if at all.
class hotkeys_session {
 public:
  explicit hotkeys_session(settings const& server) : client_(server) {}
  ~hotkeys_session() {
    if (is_ours_) client_.ask({{"HOTKEYS", "STOP"}, {"HOTKEYS", "RESET"}});
  }
  hotkeys_session(hotkeys_session const&) = delete;
  hotkeys_session& operator=(hotkeys_session const&) = delete;

  failure begin(survey_request const& request, std::vector<std::string>& notes) {
    // Should we be gone, it ends by itself a little later.
    auto const seconds = std::chrono::ceil<std::chrono::seconds>(request.lasts).count() + 1;
    auto const answers = client_.ask(
        {{"HOTKEYS", "START", "METRICS", "1", "CPU", "COUNT",
          std::to_string(wanted_hotkeys(request)), "DURATION", std::to_string(seconds)}});
    if (!answers) return answers.error();
    ++commands_;
    reply const& answer = answers->at(0);
    is_ours_ = !answer.is_error();
    auto const line = answer.text();
    if (is_ours_ || line.find("unknown subcommand") != line.npos) return {};  // that is Valkey
    if (line.find("in progress") != line.npos || line.find("already") != line.npos) {
      notes.push_back(client_.how().address() +
                      " has a HOTKEYS session of somebody else, which stays: these are its keys");
      return {};
    }
    return refused(client_.how(), line, hotkeys_command());
  }

  wait_end wait_until(clock::time_point then) { return client_.wait_until(then); }

  /// What it has counted. Of Redis, shares of the server's time; rates follow from its commands.
  failure take(survey& into, std::size_t most) {
    std::vector<command_words> asked;
    if (is_ours_) asked.push_back({"HOTKEYS", "STOP"});
    asked.push_back({"HOTKEYS", "GET"});
    asked.push_back({"INFO", "stats"});
    auto const answers = client_.ask(asked);
    if (!answers) return answers.error();
    commands_ += asked.size();
    auto const& how = client_.how();
    reply const& answer = answers->at(asked.size() - 2);
    if (answer.is_error()) {
      auto const line = answer.text();
      if (line.find("disabled") != line.npos) {
        return how.failed(errc::not_supported, "the server at " + how.address() +
                                                   " does not count keys: say CONFIG SET "
                                                   "hotkey-top-k 16, or ask another "
                                                   "source: clients, lfu, monitor");
      }
      return refused(how, line, hotkeys_command());
    }
    auto const read = read_hotkeys(answer);
    if (!read) return how.failed(errc::protocol, "the answer to HOTKEYS GET has an unknown shape");
    add(*read, answers->back(), most, into);
    return {};
  }

  std::uint64_t commands() const noexcept { return commands_; }

 private:
  void add(hotkeys_answer const& read, reply const& info, std::size_t most, survey& into) {
    bool const are_shares = read.what == hotkeys_answer::measure::share;
    auto const commands = commands_a_second(info);
    std::size_t left = most;
    for (auto const& row : read.rows) {
      bool const is_elsewhere = row.database && *row.database != client_.how().database;
      if (is_elsewhere || is_own_key(row.key) || left == 0) continue;
      --left;
      surveyed_key one;
      one.key = row.key;
      one.rate = are_shares ? row.value * double(commands.value_or(0)) : row.value;
      if (are_shares) one.share = row.value;
      into.keys.push_back(std::move(one));
    }
    if (!are_shares || read.rows.empty()) return;
    into.notes.push_back("the server at " + client_.how().address() +
                         " measures time, and no uses: rates are the key's share of it, of all "
                         "commands; keys of all databases are among them");
  }

  asking_client client_;
  bool is_ours_ = false;
  std::uint64_t commands_ = 0;
};

// To its end, or until one of them is lost, which says so when it is asked.
void wait_while_they_count(std::deque<hotkeys_session>& sessions, survey_request const& request) {
  auto const pause =
      milliseconds{100} / static_cast<int>(std::min<std::size_t>(sessions.size(), 100));
  auto const begun = clock::now(), end = begun + request.lasts;
  while (true) {
    for (auto& one : sessions) {
      auto const now = clock::now();
      if (now >= end) return;
      if (one.wait_until(std::min<clock::time_point>(now + pause, end)) == wait_end::lost) return;
    }
    tell_progress(request, std::chrono::duration<double>(clock::now() - begun) / request.lasts);
  }
}

}  // namespace

result<survey> survey_hotkeys(surveyed_servers const& servers, survey_request const& request) {
  survey made;
  std::deque<hotkeys_session> sessions;
  for (auto const& server : servers.masters) {
    auto& one = sessions.emplace_back(server);
    if (auto why = one.begin(request, made.notes); why.code) return why;
  }
  auto const begun = clock::now();
  wait_while_they_count(sessions, request);
  std::uint64_t commands = 0;
  for (auto& one : sessions) {
    if (auto why = one.take(made, most_hotkeys); why.code) return why;
    commands += one.commands();
  }
  if (request.top > most_hotkeys || !request.prefix.empty()) {
    made.notes.push_back("a server tells " + std::to_string(most_hotkeys) +
                         " keys at most, whatever they begin with");
  }
  std::erase_if(made.keys, [&](auto const& one) { return !one.key.starts_with(request.prefix); });
  keep_greatest(made.keys, request.top);
  made.cost = counted(commands, "command") + " in " + in_seconds(clock::now() - begun) +
              "; the server counts by itself";
  return made;
}

}  // namespace herdlock::redis
