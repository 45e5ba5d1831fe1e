#include "stores/redis/hot/survey_parts.hpp"

#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/client/server_facts.hpp"

namespace herdlock::redis {
namespace {

// Those of one server; false when it does not tell.
bool add_sizes_of(settings const& server, std::vector<surveyed_key*> const& keys,
                  std::string& last_error) {
  std::vector<command_words> asked;
  for (auto const* one : keys) asked.push_back({"MEMORY", "USAGE", one->key});
  auto const answers = ask_once(server, asked);
  if (!answers) {
    last_error = answers.error().message;
    return false;
  }
  bool all = true;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    reply const& answer = answers->at(i);
    if (answer.is_error()) {
      last_error = answer.text();
      all = false;
    }
    auto const bytes = answer.kind() == reply_kind::number ? answer.number() : std::nullopt;
    if (bytes && *bytes >= 0) keys[i]->bytes = static_cast<std::uint64_t>(*bytes);
  }
  return all;
}

// So answers a server that is older than the command, or where `rename-command` took it away: there
// no right helps.
bool names_unknown_command(std::string_view line) {
  return line.starts_with("ERR unknown command") || line.starts_with("ERR unknown subcommand");
}

std::string permission(settings const& how, std::string const& right) {
  return "ACL SETUSER " + (how.user.empty() ? "default" : how.user) + " " + right;
}

}  // namespace

failure refused(settings const& how, std::string_view line, needed_command const& what) {
  std::string const named = what.serves.empty() ? what.name : what.name + ", which " + what.serves;
  if (line.starts_with("NOPERM")) {
    return how.failed(errc::access_denied, "the user may not run " + named +
                                               "; permit it: " + permission(how, what.right) +
                                               ", or " + what.instead + " (the server says " +
                                               in_quotes(line) + ")");
  }
  if (names_unknown_command(line)) {
    return how.failed(errc::not_supported,
                      "the server at " + how.address() + " knows no command " + named +
                          ": it is older than the command, or an administrator renamed or "
                          "disabled it; have it enabled, or " +
                          what.instead + " (it says " + in_quotes(line) + ")");
  }
  bool const moves = line.starts_with("MOVED") || line.starts_with("ASK ");
  if (moves && how.part == server_part::cluster_node) {
    return how.failed(errc::unavailable, "slots move from one node to another; ask again");
  }
  return server_failure(line, how.display_name);
}

std::optional<std::int64_t> commands_a_second(reply const& info) {
  std::optional<std::int64_t> found;
  for_each_fact(info.text(), [&](auto name, auto value) {
    if (name.ends_with("instantaneous_ops_per_sec")) found = whole_number<std::int64_t>(value);
  });
  return found;
}

void add_sizes(surveyed_servers const& servers, survey_source source, survey& into) {
  std::vector<std::vector<surveyed_key*>> by_server(servers.masters.size());
  for (auto& one : into.keys) {
    bool const counts_a_part = source == survey_source::monitor || source == survey_source::clients;
    bool const may_be_cut = counts_a_part && one.key.size() >= kept_key_bytes;
    auto const home = may_be_cut ? std::nullopt : servers.home_of(one.key);
    if (home) by_server[*home].push_back(&one);
  }
  bool all = true;
  std::string last_error;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < by_server.size(); ++i) {
    if (by_server[i].empty()) continue;
    asked += by_server[i].size();
    all = add_sizes_of(servers.masters[i], by_server[i], last_error) && all;
  }
  into.cost += "; MEMORY USAGE of " + counted(asked, "key");
  if (all) return;
  std::string const why =
      names_unknown_command(last_error)
          ? "the server knows no command MEMORY USAGE, which was renamed or disabled"
          : "the user needs MEMORY USAGE on these keys, such as +memory|usage ~*";
  into.notes.push_back("sizes are missing: " + why + " (" + last_error + ")");
}

std::string in_seconds(clock::duration span) {
  auto const tenths = span / milliseconds{100};
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace herdlock::redis
