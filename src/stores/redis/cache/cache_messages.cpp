#include "stores/redis/cache/cache_messages.hpp"

#include "algo/entry_header.hpp"
#include "stores/redis/client/server_facts.hpp"
#include "stores/redis/scripts/cache_scripts.hpp"
#include "stores/redis/wait_limits.hpp"

namespace herdlock::redis {
namespace {

// Field, content, field, … from node `first` on.
hash_fields read_fields(reply const& answer, std::size_t first) {
  hash_fields fields;
  fields.reserve((answer.nodes() - first) / 2);
  for (std::size_t i = first; i + 1 < answer.nodes(); i += 2) {
    fields.emplace_back(answer.text(i), answer.text(i + 1));
  }
  return fields;
}

void add_value(command_writer& out, cache_value const& value) {
  if (std::holds_alternative<absent>(value)) out.add(absent_marker);
  if (auto const* text = std::get_if<std::string>(&value)) out.add(*text);
  if (auto const* fields = std::get_if<hash_fields>(&value)) {
    for (auto const& [field, content] : *fields) {
      out.add(field);
      out.add(content);
    }
  }
}

// value, claim, error, fence: what a claim and the writing scripts touch.
void add_entry_keys(command_writer& out, cache_key const& key) {
  out.add(key.str());
  out.add_side_key(key.str(), claim_role);
  out.add_side_key(key.str(), error_role);
  out.add_side_key(key.str(), claim_fence_role);
}

}  // namespace

result<fill_reply> parse_fill(reply const& answer, std::string_view name) {
  auto const stored = yes_or_no<bool>(answer, name);
  if (!stored) return stored.error();
  return *stored ? fill_reply::stored : fill_reply::superseded;
}

template <class Request>
void entry_message<Request>::end_with_entry(command_writer& out) const {
  out.add_number(asked.ttl.count());
  out.add(kind_letter(asked.value));
  out.add_side_key(asked.key.str(), events);
  out.add(event);
  add_value(out, asked.value);
  out.end();
}

void get_message::encode(command_writer& out, script_form) const {
  out.request({read == layout::hash ? "HGETALL" : "GET", key.str()});
}

result<cache_lookup> get_message::parse(reply const& answer) const {
  cache_lookup found;
  if (read == layout::hash) {
    if (answer.kind() != reply_kind::list) return unexpected_reply(name());
    if (answer.nodes() > 1) found = hash_entry(read_fields(answer, 1));
  } else if (answer.kind() == reply_kind::text) {
    found = string_entry(answer.text());
  }
  if (found) {
    if (auto const bad = check_no_lock(key, *found); bad.code) return bad;
  }
  if (found && read != asked) {
    if (auto const bad = check_layout(key, *found, asked); bad.code) return bad;
  }
  return found;
}

std::optional<get_message> get_message::after_error(reply const& answer) const {
  if (read != asked || !answer.text().starts_with("WRONGTYPE")) return std::nullopt;
  return get_message{key, asked, asked == layout::hash ? layout::string : layout::hash};
}

void claim_message::encode(command_writer& out, script_form form) const {
  out.begin(cache_scripts().claim, form);
  add_entry_keys(out, asked.key);
  out.add(asked.owner.str());
  out.add_number(asked.ttl.count());
  out.add(layout_letter(asked.form));
  out.add_number(asked.refresh_below.count());
  out.end();
}

result<claim_reply> claim_message::parse(reply const& answer) const {
  if (answer.kind() != reply_kind::list) {
    auto const fence = answer.number();
    if (!fence || *fence <= 0) return unexpected_reply(name());
    return claim_reply(claimed{{static_cast<std::uint64_t>(*fence)}});
  }
  std::string_view const what = answer.text(1);
  if (what == "s") return hit(string_entry(answer.text(2)));
  if (what == "h") return hit(hash_entry(read_fields(answer, 3)));
  auto const pttl = answer.number(what == "e" ? 3 : 2);
  if (!pttl) return unexpected_reply(name());
  if (what == "b") return claim_reply(claim_busy{remaining_of(*pttl)});
  return claim_reply(load_backing_off{std::string(answer.text(2)), remaining_of(*pttl)});
}

result<claim_reply> claim_message::hit(cache_value value) const {
  if (auto const bad = check_layout(asked.key, value, asked.form); bad.code) return bad;
  return claim_reply(cache_hit{std::move(value)});
}

void extend_message::encode(command_writer& out, script_form form) const {
  out.begin(cache_scripts().extend, form);
  out.add_side_key(key.str(), claim_role);
  out.add_side_key(key.str(), claim_fence_role);
  out.add(owner.str());
  out.add_number(ttl.count());
  out.end();
}

void fill_message::encode(command_writer& out, script_form form) const {
  out.begin(cache_scripts().fill, form);
  add_entry_keys(out, asked.key);
  out.add(asked.owner.str());
  end_with_entry(out);
}

void fail_message::encode(command_writer& out, script_form form) const {
  out.begin(cache_scripts().fail, form);
  out.add_side_key(key.str(), claim_role);
  out.add_side_key(key.str(), error_role);
  out.add_side_key(key.str(), claim_fence_role);
  out.add(owner.str());
  out.add_number(back_off.count());
  out.add_side_key(key.str(), events);
  out.add(event);
  out.add(error);
  out.end();
}

void put_message::encode(command_writer& out, script_form form) const {
  out.begin(cache_scripts().put, form);
  add_entry_keys(out, asked.key);
  end_with_entry(out);
}

result<void> put_message::parse(reply const& answer) const {
  if (answer.number() != 1) return unexpected_reply(name());
  return {};
}

void invalidate_message::encode(command_writer& out, script_form form) const {
  out.begin(cache_scripts().invalidate, form);
  add_entry_keys(out, key);
  out.add_side_key(key.str(), events);
  out.add(".");  // look_event()
  out.end();
}

void expire_message::encode(command_writer& out, script_form form) const {
  out.begin(cache_scripts().expire, form);
  add_entry_keys(out, key);
  out.add_number(keep.count());
  out.add_side_key(key.str(), events);
  out.add(".");  // look_event()
  out.add(algo::header_field);
  out.add(algo::header_beginning);
  out.add(std::string_view(&algo::stale_mark, 1));
  out.end();
}

void time_left_message::encode(command_writer& out, script_form) const {
  out.request({"PTTL", key.str()});
}

result<std::optional<milliseconds>> time_left_message::parse(reply const& answer) const {
  constexpr std::int64_t no_key = -2;
  constexpr std::int64_t no_end = -1;
  auto const left = answer.number();
  if (!left || *left < no_key) return unexpected_reply(name());
  if (*left == no_key) return std::optional<milliseconds>();
  if (*left == no_end) return std::optional(limits::max_ttl);
  return std::optional(std::min(milliseconds(*left), limits::max_ttl));
}

void time_message::encode(command_writer& out, script_form) const { out.request({name()}); }

result<std::chrono::microseconds> time_message::parse(reply const& answer) const {
  auto const time_us = read_time(answer);
  if (!time_us) return unexpected_reply(name());
  return std::chrono::microseconds(*time_us);
}

}  // namespace herdlock::redis
