#include "stores/redis/client/server_errors.hpp"

#include <string>

namespace herdlock::redis {
namespace {

struct error_word {
  std::string_view word;
  errc code;
  std::string_view advice;
};

constexpr std::string_view channel_advice =
    "the user may not use the channels {key}:herdlock:events:* and herdlock:grants:*; extend its "
    "ACL, for example with &*";

constexpr std::string_view rights_advice =
    "the user lacks a right (commands EVAL, EVALSHA, GET, SET, TIME, …, the keys and their "
    "{key}:herdlock:* side keys, channels); extend its ACL";

constexpr std::string_view cluster_advice =
    "the server is a cluster node; open it with redis+cluster:// (or rediss+cluster://)";

constexpr error_word error_words[] = {
    {"WRONGTYPE", errc::wrong_type,
     "the key holds a value of another type; use another name, or delete that key"},
    {"ISALOCK", errc::wrong_type,
     "a lock of this name is held; give the cache a prefix of its own (cache_options::prefix), "
     "or, if no lock has this name, DEL the key"},
    {"WRONGPASS", errc::access_denied, "wrong user or password; correct them in the store URL"},
    {"NOAUTH", errc::access_denied,
     "the server asks for a password; write one in the store URL: redis://:password@host"},
    {"NOPERM", errc::access_denied, rights_advice},
    {"LOADING", errc::unavailable, "the server is still loading its data; try again later"},
    {"BUSY", errc::unavailable, "the server is busy running a script; try again later"},
    {"READONLY", errc::unavailable, "the server is a read-only replica; connect to the master"},
    {"MASTERDOWN", errc::unavailable, "the replica has lost its master; connect to the master"},
    {"OOM", errc::unavailable, "the server is out of memory; raise maxmemory or free some"},
    {"MISCONF", errc::unavailable,
     "the server cannot save its data and refuses writes; see its log"},
    {"NOREPLICAS", errc::unavailable, "the server has too few replicas to accept writes"},
    {"QUEUEFULL", errc::overloaded, "too many wait for this resource already; try again later"},
    {"CLUSTERDOWN", errc::unavailable, "the cluster is down"},
    {"MOVED", errc::not_supported, cluster_advice},
    {"ASK", errc::not_supported, cluster_advice},
    {"CROSSSLOT", errc::not_supported, cluster_advice},
};

bool is_word_at(std::string_view line, std::size_t at, std::size_t length) {
  return (at == 0 || line[at - 1] == ' ' || line[at - 1] == '-') &&
         (at + length == line.size() || line[at + length] == ' ');
}

// Redis before 7 puts a script's error code in the middle: "ERR Error running script …: OOM …".
bool has_code(std::string_view line, std::string_view word) {
  if (line.starts_with("ERR ")) {
    auto const at = line.find(word);
    return at != std::string_view::npos && line.find("running script") != std::string_view::npos &&
           is_word_at(line, at, word.size());
  }
  return line.starts_with(word) && is_word_at(line, 0, word.size());
}

// "ERR unknown command 'EVALSHA', …", or the same about a command inside a script: "ERR Unknown
// Redis command called …", of Valkey "ERR Unknown command called …".
bool is_about_a_missing_command(std::string_view line) {
  auto const says = [&](std::string_view words) { return line.find(words) != line.npos; };
  return line.starts_with("ERR ") && (says("unknown command") || says("Unknown Redis command") ||
                                      says("Unknown command called"));
}

// NOPERM as a script is told it: "ERR The user executing the script can't run this command" (7.0),
// "ERR ACL failure in script: …" (since 7.2).
bool is_about_a_right_in_a_script(std::string_view line) {
  auto const says = [&](std::string_view words) { return line.find(words) != line.npos; };
  return line.starts_with("ERR ") &&
         (says("user executing the script can't") || says("ACL failure in script"));
}

// "NOPERM … one of the channels used as arguments", since Redis 7.2 "NOPERM … to access a channel";
// in a script "… can't publish to the channel …", since 7.2 "ERR ACL failure …".
bool is_about_channels(std::string_view line) {
  auto const says = [&](std::string_view words) { return line.find(words) != line.npos; };
  bool const denied = has_code(line, "NOPERM") || is_about_a_right_in_a_script(line);
  return says("can't publish") || (denied && (says("the channels used") || says("the channel ") ||
                                              says("access a channel")));
}

std::string explained(std::string_view store, std::string_view advice, std::string_view line) {
  return std::string(store) + ": " + std::string(advice) + " (the server says " + in_quotes(line) +
         ")";
}

}  // namespace

failure server_failure(std::string_view line, std::string_view store) {
  if (is_about_channels(line)) {
    return make_failure(errc::access_denied, explained(store, channel_advice, line));
  }
  if (is_about_a_right_in_a_script(line)) {
    return make_failure(errc::access_denied, explained(store, rights_advice, line));
  }
  if (is_about_a_missing_command(line)) {
    return make_failure(errc::not_supported,
                        explained(store,
                                  "the server lacks a command that herdlock needs; it must be "
                                  "Redis 6.2 or newer, without renamed commands",
                                  line));
  }
  if (line.starts_with("ERR max number of clients")) {
    return make_failure(
        errc::unavailable,
        explained(store, "the server has as many clients as it takes; raise maxclients", line));
  }
  for (auto const& m : error_words) {
    if (has_code(line, m.word)) return make_failure(m.code, explained(store, m.advice, line));
  }
  return make_failure(errc::protocol, std::string(store) + ": the server answered with an error: " +
                                          in_quotes(line));
}

failure refused_greeting(std::string_view line, std::string_view store) {
  auto const says = [&](errc code, std::string_view what) {
    return make_failure(code, std::string(store) + ": " + std::string(what));
  };
  if (is_about_a_missing_command(line)) {
    return says(errc::not_supported,
                "the server does not know HELLO; herdlock needs Redis 6.2 or newer");
  }
  if (has_code(line, "DENIED")) {
    return says(errc::access_denied,
                "the server is in protected mode, which refuses other machines: give it a password "
                "(requirepass, or an ACL user), which the URL needs, too, or use it on its own "
                "machine");
  }
  if (has_code(line, "NOPROTO")) {
    return says(errc::not_supported,
                "the server does not speak RESP3; herdlock needs Redis 6.2 or newer");
  }
  if (line.starts_with("ERR max number of clients")) {
    return says(errc::unavailable, "the server has as many clients as it takes; raise maxclients");
  }
  for (auto const& m : error_words) {
    if (!has_code(line, m.word)) continue;
    return says(m.code, std::string(m.advice) + " (the server says " + std::string(m.word) + ")");
  }
  return says(errc::protocol,
              "the server refuses the greeting; its answer is not shown, since it may repeat the "
              "password");
}

bool is_misdirected(std::string_view line) {
  return has_code(line, "READONLY") || has_code(line, "MASTERDOWN") ||
         has_code(line, "CLUSTERDOWN") || has_code(line, "LOADING") ||
         line.starts_with("ERR WAIT cannot be used with replica");
}

bool is_unknown_script(std::string_view line) { return line.starts_with("NOSCRIPT"); }

}  // namespace herdlock::redis
