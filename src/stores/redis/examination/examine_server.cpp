#include "stores/redis/examination/examine_server.hpp"

#include <span>

#include "stores/common/clock_skew.hpp"

namespace herdlock::redis {
namespace {

enum asked : std::size_t {
  time_asked,
  server,
  replication,
  memory,
  persistence,
  statistics,
  whoami,
  cluster
};

std::vector<command_words> first_commands() {
  return {{"TIME"},           {"INFO", "server"},      {"INFO", "replication"},
          {"INFO", "memory"}, {"INFO", "persistence"}, {"INFO", "stats"},
          {"ACL", "WHOAMI"},  {"CLUSTER", "INFO"}};
}

std::string_view value_of(std::string_view lines, std::string_view name) {
  if (lines.starts_with("txt:")) lines.remove_prefix(4);  // a verbatim string of RESP3
  std::string_view found;
  for_each_fact(lines, [&](auto known, auto value) {
    if (known == name && found.empty()) found = value;
  });
  return found;
}

// What ACL DRYRUN says when the command is allowed and the channel is not; and what counts the
// listeners.
bool is_about_news(command_words const& asked, std::string_view said) {
  return asked.front() == "PUBSUB" || said.find("channel") != said.npos;
}

class server_examination {
 public:
  server_examination(settings const& how, access_use use, examination& into,
                     char const* against_forgetting)
      : how_(how),
        use_(use),
        into_(into),
        against_forgetting_(against_forgetting),
        at_("the server at " + how.address()) {}

  std::optional<server_facts> make() {
    auto const before = wall_clock_us();
    auto answers = ask_once(how_, first_commands());
    auto const after = wall_clock_us();
    if (answers.has_error()) {
      into_.find({"redis.reachable", severity::error, answers.error().message,
                  "there is no lock to be had", "start the server, or put the URL right"});
      return std::nullopt;
    }
    into_.pass("redis.reachable");
    read(*answers);
    version();
    role();
    eviction(*answers);
    persistence_of();
    names_apart();
    replicas(answers->at(replication).text());
    if (how_.part == server_part::cluster_node) cluster_state(answers->at(cluster));
    clock_of(before, after);
    rights(answers->at(whoami));
    if (how_.part == server_part::cluster_node) cluster_rights(answers->at(whoami));
    return facts_;
  }

 private:
  void read(std::vector<reply> const& answers) {
    facts_.time_us = read_time(answers.at(time_asked));
    for (std::size_t i = server; i <= persistence; ++i) {
      if (answers.at(i).is_error()) {
        into_.skip("redis.info", at_ + " does not permit INFO to this user");
      } else {
        read_info(facts_, answers.at(i).text());
      }
    }
  }
  void version() {
    if (facts_.version.empty()) return;
    into_.expect(!is_older_than(facts_, 6, 2),
                 {"redis.version", severity::error, at_ + " is Redis " + facts_.version,
                  "herdlock refuses it: it lacks commands that leases are made of",
                  "use Redis 6.2 or newer, or Valkey"});
  }
  void role() {
    if (facts_.role.empty()) return;
    bool const wrong = facts_.role == "slave" && how_.part != server_part::cluster_node;
    into_.expect(!wrong, {"redis.role", severity::error, at_ + " is a read-only replica",
                          "nothing can be granted there",
                          "name the master, or go through redis+sentinel://"});
  }
  void eviction(std::vector<reply> const& answers) {
    if (facts_.policy.empty()) return;
    bool const evicts =
        facts_.policy.starts_with("allkeys-") || facts_.policy.starts_with("volatile-");
    bool const limited = value_of(answers.at(memory).text(), "maxmemory") != "0";
    std::string const count(value_of(answers.at(statistics).text(), "evicted_keys"));
    std::string const evicted =
        count.empty() || count == "0" ? "" : "; it has evicted " + count + " keys since its start";
    into_.expect(!evicts, {"redis.eviction", limited ? severity::error : severity::warning,
                           at_ + " has maxmemory-policy " + facts_.policy +
                               (limited ? "" : " (and no maxmemory yet)") + evicted,
                           "when memory runs short it throws leases and claims away: another is "
                           "granted what is held, and a key is loaded by several at once",
                           "set maxmemory-policy noeviction; a cache that may be evicted and locks "
                           "that must not belong to two servers"});
  }
  void persistence_of() {
    if (facts_.append_only.empty()) return;
    bool const forgets = facts_.append_only == "0" && how_.durable.quarantine.count() == 0 &&
                         against_forgetting_ != nullptr;
    into_.expect(!forgets,
                 {"redis.persistence", severity::warning, at_ + " has no append-only file",
                  "after a restart it has forgotten the leases that are held, and grants "
                  "them to others while their holders still work",
                  against_forgetting_ ? against_forgetting_ : ""});
  }
  // The value of a lock of the dialects does not tell that it is one.
  void names_apart() {
    if (how_.speaks == dialect::herdlock) return;
    into_.skip("redis.names",
               "whether a cache in this database has keys of the names of these "
               "locks cannot be seen, and it would replace those of other clients: "
               "keep the prefixes apart");
  }
  void replicas(std::string_view info) {
    if (!facts_.replicas || facts_.role != "master") return;
    std::int64_t in_step = 0;
    for (std::int64_t i = 0; i < *facts_.replicas; ++i) {
      auto const line = value_of(info, "slave" + std::to_string(i));
      if (line.find("state=online") != std::string_view::npos) ++in_step;
    }
    std::string const count = std::to_string(in_step) + " of " + std::to_string(*facts_.replicas) +
                              " replicas of " + at_ + " are in step";
    if (how_.durable.replicas > 0) {
      into_.expect(
          in_step >= how_.durable.replicas,
          {"redis.wait_replicas", severity::error,
           count + ", and wait_replicas is " + std::to_string(how_.durable.replicas),
           "nothing is granted until there are as many", "start replicas, or ask for fewer"});
    }
    into_.expect(in_step == *facts_.replicas,
                 {"redis.replicas", severity::warning, count,
                  "after a failover to one that is behind, leases are forgotten",
                  "see why it does not catch up (its log, repl-backlog-size)"});
  }
  void cluster_state(reply const& answer) {
    if (answer.is_error()) return into_.skip("cluster.state", "CLUSTER INFO is not permitted");
    std::string const state(value_of(answer.text(), "cluster_state"));
    into_.expect(state == "ok", {"cluster.state", severity::error,
                                 at_ + " says cluster_state:" + (state.empty() ? "?" : state),
                                 "resources whose slots nobody serves cannot be locked",
                                 "see CLUSTER INFO and CLUSTER SHARDS; redis-cli --cluster fix"});
  }
  void clock_of(std::int64_t before, std::int64_t after) {
    if (!facts_.time_us) return into_.skip("redis.clock", "TIME is not permitted");
    auto const skew = skew_of(*facts_.time_us, before, after);
    if (how_.speaks != dialect::getset)
      return check_skew(into_, "redis.clock", how_.address(), skew);
    into_.expect(skew <= how_.skew,
                 {"redis.clock", severity::error,
                  "the clocks of this machine and of " + at_ + " differ by " + in_ms(skew),
                  "this dialect compares clients' clocks: two may hold at once",
                  "run NTP on all clients, or give skew= what they may differ"});
  }

  // A dry run of what the scripts do; a user who may not ask is judged by the probe alone.
  void rights(reply const& who) {
    if (who.is_error()) return into_.skip("redis.rights", "ACL WHOAMI is not permitted");
    std::string const user(who.text());
    std::string const key = how_.prefix + "herdlock-doctor";
    auto groups = rights_of(use_, key);
    if (how_.durable.replicas > 0 || how_.durable.quarantine > milliseconds{0}) {
      groups.push_back(rights_to_confirm());
    }
    std::vector<command_words> asking;
    for (auto const& group : groups) {
      for (auto const& one : group.commands) {
        command_words words{"ACL", "DRYRUN", user};
        words.insert(words.end(), one.begin(), one.end());
        asking.push_back(std::move(words));
      }
    }
    auto const answers = ask_once(how_, asking);
    if (answers.has_error()) return into_.skip("redis.rights", answers.error().message);
    for (auto const& one : *answers) {
      if (!one.is_error()) continue;
      return into_.skip("redis.rights", "ACL DRYRUN needs Redis 7 and the right to ask");
    }
    std::span<reply const> rest(*answers);
    for (auto const& group : groups) {
      look_at(user, group, rest.first(group.commands.size()));
      rest = rest.subspan(group.commands.size());
    }
  }

  void look_at(std::string const& user, right_group const& group, std::span<reply const> said) {
    std::string const may_not = "the user " + in_quotes(user) + " at " + at_ + " may not";
    std::string const permit = "permit them: ACL SETUSER " + user + " ";
    std::string missing, unheard;
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (said[i].text() == "OK") continue;
      auto const& one = group.commands[i];
      (is_about_news(one, said[i].text()) ? unheard : missing) += " " + shown(one);
    }
    std::string const names =
        group.keys.empty() ? ", and the names with their side keys" : " " + std::string(group.keys);
    into_.expect(missing.empty(),
                 {std::string(group.check), group.weight, may_not + " run" + missing,
                  std::string(group.consequence), permit + rules_of(group.commands) + names});
    if (use_ != access_use::leases_and_values || group.check != "redis.rights") return;
    into_.expect(
        unheard.empty(),
        {"redis.channels", severity::warning,
         may_not + unheard + " on the channels of grants and loads",
         "waiters are not woken, they ask again and again (PUBSUB: those that died cost the "
         "others a heartbeat each)",
         permit + "+publish +subscribe +unsubscribe +pubsub|numsub " + std::string(channel_rules)});
  }

  // Of what only a cluster's nodes are asked.
  void cluster_rights(reply const& who) {
    if (who.is_error()) return into_.skip("cluster.rights", "ACL WHOAMI is not permitted");
    std::string const user(who.text());
    auto const answers = ask_once(how_, {{"ACL", "DRYRUN", user, "CLUSTER", "SLOTS"},
                                         {"ACL", "DRYRUN", user, "ASKING"},
                                         {"ACL", "DRYRUN", user, "CLUSTER", "INFO"}});
    if (answers.has_error()) return into_.skip("cluster.rights", answers.error().message);
    for (auto const& one : *answers) {
      if (!one.is_error()) continue;
      return into_.skip("cluster.rights", "ACL DRYRUN needs Redis 7 and the right to ask");
    }
    auto const may = [&](std::size_t i) { return answers->at(i).text() == "OK"; };
    std::string const told = "the user " + in_quotes(user) + " at " + at_ + " may not run";
    into_.expect(may(0) && may(1),
                 {"cluster.rights", severity::error,
                  told + (may(0) ? "" : " CLUSTER SLOTS") + (may(1) ? "" : " ASKING"),
                  "nobody finds the node that serves a name, or a slot that is being moved",
                  "permit them: ACL SETUSER " + user + " +cluster|slots +asking"});
    into_.expect(may(2), {"cluster.view", severity::warning, told + " CLUSTER INFO",
                          "a node that was cut off from the others is believed, and what it "
                          "serves as it thinks cannot be locked",
                          "permit it: ACL SETUSER " + user + " +cluster|info"});
  }

  settings const& how_;
  access_use const use_;
  examination& into_;
  char const* const against_forgetting_;
  std::string const at_;
  server_facts facts_;
};

}  // namespace

std::optional<server_facts> check_server(settings const& how, access_use use, examination& into,
                                         char const* against_forgetting) {
  return server_examination(how, use, into, against_forgetting).make();
}

}  // namespace herdlock::redis
