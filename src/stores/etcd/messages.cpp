#include "stores/etcd/messages.hpp"

#include <nlohmann/json.hpp>

#include "stores/common/numbers.hpp"

namespace herdlock::etcd {
namespace {

using nlohmann::json;

// 64-bit numbers are texts in protobuf's JSON.
std::string number(std::int64_t value) { return std::to_string(value); }

// Fields with their default value are left out.
std::int64_t number_at(json const& object, char const* field) {
  auto const found = object.find(field);
  if (found == object.end()) return 0;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  if (!found->is_string()) return 0;
  return whole_number<std::int64_t>(found->get_ref<std::string const&>()).value_or(0);
}

bool true_at(json const& object, char const* field) {
  auto const found = object.find(field);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string text_at(json const& object, char const* field) {
  auto const found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string bytes_at(json const& object, char const* field) {
  return from_base64(text_at(object, field)).value_or("");
}

json parsed(std::string const& text) { return json::parse(text, nullptr, false); }

// The end of a range of all keys that begin with the prefix, which ends with '/'.
std::string end_of(std::string prefix) {
  ++prefix.back();
  return prefix;
}

json range_of(std::string const& prefix, char const* order, std::size_t limit) {
  return {{"key", to_base64(prefix)},
          {"range_end", to_base64(end_of(prefix))},
          {"sort_target", "CREATE"},
          {"sort_order", order},
          {"limit", std::to_string(limit)}};
}

json range_of_key(std::string const& key) { return {{"key", to_base64(key)}}; }

json get(json range) { return {{"request_range", std::move(range)}}; }

json put(key_write const& entry) {
  return {{"request_put",
           {{"key", to_base64(entry.key)},
            {"value", to_base64(entry.value)},
            {"lease", number(entry.lease)}}}};
}

json remove(std::string const& key) {
  return {{"request_delete_range", {{"key", to_base64(key)}}}};
}

json created_at(std::string const& key, std::int64_t revision) {
  return {{"key", to_base64(key)},
          {"target", "CREATE"},
          {"result", "EQUAL"},
          {"create_revision", number(revision)}};
}

json is_there(std::string const& key) {
  json compare = created_at(key, 0);
  compare["result"] = "GREATER";
  return compare;
}

json unchanged(std::string const& key, std::int64_t mod_revision) {
  return {{"key", to_base64(key)},
          {"target", "MOD"},
          {"result", "EQUAL"},
          {"mod_revision", number(mod_revision)}};
}

// Whether it is the key's owner that the key is named by. One that is not there is no such key.
json not_left(std::string const& key) {
  return {{"key", to_base64(key)},
          {"target", "VALUE"},
          {"result", "LESS"},
          {"value", to_base64(left_mark)}};
}

json nobody_before(std::string const& prefix, std::int64_t create_revision) {
  json all = created_at(prefix, create_revision - 1);
  all["result"] = "GREATER";
  all["range_end"] = to_base64(end_of(prefix));
  return all;
}

// `compare`: what must all be so.
std::string txn(json compare, json success, json failure) {
  return json{{"compare", std::move(compare)},
              {"success", std::move(success)},
              {"failure", std::move(failure)}}
      .dump();
}

json own_and_first(std::string const& prefix, std::string const& own) {
  return json::array({get(range_of_key(own)), get(range_of(prefix, "ASCEND", 1))});
}

range_reply read_range(json const& from) {
  range_reply reply;
  reply.count = number_at(from, "count");
  auto const found = from.find("kvs");
  if (found == from.end() || !found->is_array()) return reply;
  for (json const& one : *found) {
    reply.entries.push_back({bytes_at(one, "key"), bytes_at(one, "value"),
                             number_at(one, "create_revision"), number_at(one, "mod_revision"),
                             number_at(one, "lease")});
  }
  return reply;
}

// A put is the default, which is left out.
std::vector<key_change> changes_in(json const& from) {
  std::vector<key_change> changes;
  auto const events = from.find("events");
  if (events == from.end() || !events->is_array()) return changes;
  for (json const& one : *events) {
    auto const entry = one.find("kv");
    if (entry == one.end()) continue;
    bool const deleted = text_at(one, "type") == "DELETE";
    changes.push_back(
        {bytes_at(*entry, "key"), deleted ? key_change::kind::deleted : key_change::kind::written});
  }
  return changes;
}

std::int64_t revision_in(json const& from) {
  auto const header = from.find("header");
  return header == from.end() ? 0 : number_at(*header, "revision");
}

// Of streams: the message is inside `result`, an error inside `error`.
refusal refusal_of_stream(json const& error) {
  auto code = static_cast<int>(number_at(error, "grpc_code"));
  if (code == status::ok) code = status::unavailable;
  return {code, text_at(error, "message")};
}

int status_of_http(int http) {
  switch (http) {
    case 401:
      return status::unauthenticated;
    case 403:
      return status::permission_denied;
    case 404:
      return status::not_found;
    case 429:
      return status::resource_exhausted;
    default:
      return http >= 500 ? status::unavailable : status::not_understood;
  }
}

}  // namespace

std::string authenticate_request(std::string const& user, std::string const& password) {
  return json{{"name", user}, {"password", password}}.dump(-1, ' ', false,
                                                           json::error_handler_t::replace);
}

std::string grant_request(std::int64_t lease, std::int64_t ttl_seconds) {
  return json{{"ID", number(lease)}, {"TTL", number(ttl_seconds)}}.dump();
}

std::string lease_request(std::int64_t lease) { return json{{"ID", number(lease)}}.dump(); }

// From now on (no start revision). Who watches looks once more when the watch stands.
// Why: docs/stores/etcd.md#watches-begin-now
std::string watch_create_request(std::int64_t id, watched_keys const& what) {
  json create{{"key", to_base64(what.first)}, {"watch_id", number(id)}};
  if (what.is_one()) {
    create["filters"] = json::array({"NOPUT"});
  } else {
    create["range_end"] = to_base64(what.last + std::string(1, '\0'));
  }
  return json{{"create_request", std::move(create)}}.dump();
}

std::string watch_cancel_request(std::int64_t id) {
  return json{{"cancel_request", {{"watch_id", number(id)}}}}.dump();
}

std::string watch_progress_request() { return R"({"progress_request":{}})"; }

std::string take_request(std::string const& prefix, key_write const& own) {
  json nobody = created_at(prefix, 0);
  nobody["range_end"] = to_base64(end_of(prefix));
  return txn(json::array({std::move(nobody)}), json::array({put(own)}),
             own_and_first(prefix, own.key));
}

std::string join_request(std::string const& prefix, key_write const& own) {
  json last = range_of(prefix, "DESCEND", 3);
  last["keys_only"] = true;
  return txn(json::array({created_at(own.key, 0)}), json::array({put(own), get(std::move(last))}),
             own_and_first(prefix, own.key));
}

std::string look_request(std::string const& prefix, std::int64_t mine, reading way) {
  json look = range_of(prefix, "DESCEND", 3);
  look["max_create_revision"] = number(mine);
  if (way == reading::of_the_member) look["serializable"] = true;
  return look.dump();
}

std::string list_request(std::string const& prefix, std::size_t limit) {
  return range_of(prefix, "ASCEND", limit).dump();
}

// A key of one zero byte is the least there is; as the end of a range it means all.
std::string keys_request(std::string const& behind, std::size_t limit) {
  std::string const zero(1, '\0');
  return json{{"key", to_base64(behind + zero)},
              {"range_end", to_base64(zero)},
              {"keys_only", true},
              {"limit", std::to_string(limit)}}
      .dump();
}

std::string rewrite_request(key_write const& own, std::int64_t create_revision) {
  return txn(json::array({created_at(own.key, create_revision), not_left(own.key)}),
             json::array({put(own)}), json::array({get(range_of_key(own.key))}));
}

std::string pass_on_request(std::string const& prefix, key_write const& own,
                            key_entry const& seen) {
  return txn(json::array({unchanged(own.key, seen.mod_revision),
                          nobody_before(prefix, seen.create_revision)}),
             json::array({put(own)}), json::array());
}

std::string leave_request(std::string const& prefix, std::string const& own,
                          std::int64_t create_revision) {
  json found = own_and_first(prefix, own);
  found.push_back(remove(own));
  json compare = create_revision > 0 ? created_at(own, create_revision) : is_there(own);
  return txn(json::array({std::move(compare), not_left(own)}), std::move(found), json::array());
}

std::string remove_unchanged_request(std::string const& own, std::int64_t mod_revision) {
  return txn(json::array({unchanged(own, mod_revision)}), json::array({remove(own)}),
             json::array({get(range_of_key(own))}));
}

std::string remove_created_request(std::string const& own, std::int64_t create_revision) {
  return txn(json::array({created_at(own, create_revision)}), json::array({remove(own)}),
             json::array());
}

refusal refusal_in(int http_status, std::string const& body) {
  json const answer = parsed(body);
  if (!answer.is_object()) {
    return {http_status == 200 ? status::not_understood : status_of_http(http_status),
            "HTTP status " + std::to_string(http_status)};
  }
  auto const error = answer.find("error");
  if (error != answer.end() && error->is_object()) return refusal_of_stream(*error);
  if (http_status == 200) return {};
  auto code = static_cast<int>(number_at(answer, "code"));
  if (code == status::ok) code = status_of_http(http_status);
  std::string message = text_at(answer, "message");
  return {code, message.empty() ? text_at(answer, "error") : message};
}

std::optional<std::string> token_in(std::string const& body) {
  json const answer = parsed(body);
  if (!answer.is_object()) return std::nullopt;
  std::string token = text_at(answer, "token");
  if (token.empty()) return std::nullopt;
  return token;
}

std::optional<lease_reply> lease_in(std::string const& body) {
  json answer = parsed(body);
  if (!answer.is_object()) return std::nullopt;
  if (answer.contains("result")) answer = json(answer["result"]);
  return lease_reply{number_at(answer, "TTL"), number_at(answer, "grantedTTL")};
}

std::optional<range_reply> range_in(std::string const& body) {
  json const answer = parsed(body);
  if (!answer.is_object() || !answer.contains("header")) return std::nullopt;
  range_reply reply = read_range(answer);
  reply.revision = revision_in(answer);
  return reply;
}

std::optional<txn_reply> txn_in(std::string const& body) {
  json const answer = parsed(body);
  if (!answer.is_object() || !answer.contains("header")) return std::nullopt;
  txn_reply reply;
  reply.succeeded = true_at(answer, "succeeded");
  reply.revision = revision_in(answer);
  auto const responses = answer.find("responses");
  if (responses == answer.end() || !responses->is_array()) return reply;
  for (json const& one : *responses) {
    auto const range = one.find("response_range");
    if (range != one.end()) reply.ranges.push_back(read_range(*range));
  }
  return reply;
}

std::optional<watch_message> watch_in(std::string const& line) {
  json const answer = parsed(line);
  if (!answer.is_object()) return std::nullopt;
  watch_message message;
  if (answer.contains("error")) {
    message.what = watch_message::kind::failed;
    return message;
  }
  auto const result = answer.find("result");
  if (result == answer.end() || !result->is_object()) return std::nullopt;
  message.watch_id = number_at(*result, "watch_id");
  message.revision = revision_in(*result);
  message.compact_revision = number_at(*result, "compact_revision");
  message.changes = changes_in(*result);
  if (!message.changes.empty()) message.what = watch_message::kind::events;
  if (true_at(*result, "created")) message.what = watch_message::kind::created;
  if (true_at(*result, "canceled")) message.what = watch_message::kind::canceled;
  return message;
}

}  // namespace herdlock::etcd
