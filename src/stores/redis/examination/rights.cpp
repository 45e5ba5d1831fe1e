#include "stores/redis/examination/rights.hpp"

#include "algo/addressed_report.hpp"
#include "stores/redis/durability/confirmation.hpp"
#include "stores/redis/exchange/kept_reports.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"

namespace herdlock::redis {
namespace {

bool has_subcommands(std::string_view command) {
  return command == "ACL" || command == "CLIENT" || command == "CLUSTER" || command == "PUBSUB" ||
         command == "SCRIPT" || command == "SENTINEL";
}

std::string lower(std::string text) {
  for (char& one : text) {
    if (one >= 'A' && one <= 'Z') one = static_cast<char>(one - 'A' + 'a');
  }
  return text;
}

std::vector<command_words> scripts_at(std::string const& key) {
  return {{"EVALSHA", "0", "1", key}, {"EVAL", "return 1", "1", key}};
}

void add(std::vector<command_words>& to, std::vector<command_words> more) {
  for (auto& one : more) to.push_back(std::move(one));
}

std::vector<command_words> for_leases_and_values(std::string const& key) {
  std::string const side = "{" + key + "}:herdlock:last";
  std::string const events = "{" + key + "}:herdlock:events:0";
  std::string const grants = std::string(grant_channel_prefix) + "x";
  auto all = scripts_at(key);
  add(all, {{"GET", key},
            {"GETRANGE", key, "0", "1"},
            {"SETRANGE", key, "0", "x"},
            {"SET", key, "x"},
            {"DEL", key},
            {"RENAME", key, side},
            {"INCR", key},
            {"PEXPIRE", key, "1"},
            {"PTTL", key},
            {"EXISTS", key},
            {"TYPE", key},
            {"HGET", key, "x"},
            {"HGETALL", key},
            {"HSET", key, "x", "x"},
            {"TIME"},
            {"ZADD", key, "1", "x"},
            {"ZREM", key, "x"},
            {"ZRANGE", key, "0", "1"},
            {"ZCARD", key},
            {"ZSCORE", key, "x"},
            {"PUBSUB", "NUMSUB", grants},
            {"PUBLISH", events, "x"},
            {"SUBSCRIBE", events, grants},
            {"UNSUBSCRIBE", events}});
  return all;
}

std::vector<command_words> for_redlock(std::string const& key) {
  auto all = scripts_at(key);
  add(all, {{"SCRIPT", "LOAD", "return 1"},
            {"GET", key},
            {"SET", key, "x"},
            {"DEL", key},
            {"RENAME", key, "{" + key + "}:herdlock:last"},
            {"PEXPIRE", key, "1"},
            {"PTTL", key},
            {"TIME"}});
  return all;
}

std::vector<command_words> for_plain_locks(std::string const& key) {
  auto all = scripts_at(key);
  add(all, {{"GET", key}, {"SET", key, "x"}, {"DEL", key}, {"PTTL", key}, {"PEXPIRE", key, "1"}});
  return all;
}

std::vector<command_words> for_getset_locks(std::string const& key) {
  return {{"SETNX", key, "x"}, {"GET", key}, {"GETSET", key, "x"}, {"DEL", key}};
}

right_group needed(std::vector<command_words> commands, std::string_view consequence) {
  return {"redis.rights", severity::error, consequence, std::move(commands)};
}

// Connections begin with INFO and TIME; a database other than 0 is selected.
right_group to_look() {
  return {
      "redis.looking",
      severity::warning,
      "nobody can tell a replica or a server that evicts leases, nor whether one that is silent "
      "lives",
      {{"INFO", "server"}, {"TIME"}, {"PING"}, {"SELECT", "0"}}};
}

right_group to_list(std::string const& key) {
  auto commands = scripts_at(key);
  add(commands, {{"SCAN", "0"}, {"STRLEN", key}, {"GET", key}});
  return {"redis.list", severity::warning, "nobody can list what is held (`herdlock show`)",
          std::move(commands)};
}

right_group to_keep_near(std::string const& key) {
  return {"redis.tracking",
          severity::warning,
          "caches keep no hot keys in the process, each read asks the server; locks do not need it",
          {{"CLIENT", "TRACKING", "ON"}, {"CLIENT", "CACHING", "YES"}, {"TOUCH", key}}};
}

right_group to_keep_hot_entries(std::string const& key) {
  return {"redis.keep",
          severity::warning,
          "the rule `keep` for hot keys lengthens nothing; locks do not need it",
          {{"HEXISTS", key, "x"}, {"STRLEN", key}, {"PEXPIREAT", key, "1"}, {"PEXPIRETIME", key}}};
}

// The names that all caches share, whatever their prefix.
right_group to_tell_of_hot_keys() {
  auto const key = side_key_of(algo::hot_reports_topic, even_reports_role);
  auto const channel = side_key_of(algo::hot_reports_topic, "events:0:reports");
  auto const lists = side_key_of(algo::hot_list_topic("x"), "events:0:reports");
  auto commands = scripts_at(key);
  add(commands, {{"HSCAN", key, "0"},
                 {"PUBLISH", channel, "x"},
                 {"PUBLISH", lists, "x"},
                 {"SUBSCRIBE", channel, lists}});
  return {"redis.fleet", severity::warning,
          "processes do not tell each other of hot keys, each goes by its own counts; locks do not "
          "need it",
          std::move(commands), "~{herdlock}:herdlock:*"};
}

constexpr std::string_view no_leases = "leases cannot be taken, renewed or given back";

}  // namespace

std::vector<right_group> rights_of(access_use use, std::string const& key) {
  switch (use) {
    case access_use::leases_and_values:
      return {needed(for_leases_and_values(key),
                     "leases cannot be taken, renewed or given back, or values not be cached"),
              to_look(),
              to_list(key),
              to_keep_near(key),
              to_tell_of_hot_keys(),
              to_keep_hot_entries(key)};
    case access_use::redlock:
      return {needed(for_redlock(key), no_leases), to_look(), to_list(key)};
    case access_use::plain_locks:
      return {needed(for_plain_locks(key), no_leases), to_look(), to_list(key)};
    case access_use::getset_locks:
      return {needed(for_getset_locks(key), no_leases), to_look(), to_list(key)};
  }
  return {};
}

right_group rights_to_confirm() {
  std::string const key(incarnation_key);
  return {"redis.confirming",
          severity::error,
          "nothing is granted, since no grant can be confirmed",
          {{"WAIT", "1", "1"}, {"INFO", "server"}, {"GET", key}, {"SET", key, "x"}}};
}

std::string rules_of(std::vector<command_words> const& commands) {
  std::string text;
  for (auto const& one : commands) {
    if (!text.empty()) text += ' ';
    text += "+" + lower(one.front());
    if (has_subcommands(one.front())) text += "|" + lower(one.at(1));
  }
  return text;
}

std::string shown(command_words const& command) {
  if (!has_subcommands(command.front())) return command.front();
  return command.front() + " " + command.at(1);
}

}  // namespace herdlock::redis
