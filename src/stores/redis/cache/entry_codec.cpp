#include "stores/redis/cache/entry_codec.hpp"

#include "stores/common/numbers.hpp"

namespace herdlock::redis {
namespace {

// `length:bytes`, as in netstrings.
void add_block(std::string& out, std::string_view bytes) {
  out += std::to_string(bytes.size());
  out += ':';
  out += bytes;
}

std::optional<std::string_view> take_block(std::string_view& rest) {
  auto const size = take_number<std::size_t>(rest, ':');
  if (!size || *size > rest.size()) return std::nullopt;
  auto const block = rest.substr(0, *size);
  rest.remove_prefix(*size);
  return block;
}

watch_reply parse_fields(std::string_view rest) {
  hash_fields fields;
  while (!rest.empty()) {
    auto const field = take_block(rest);
    auto const content = field ? take_block(rest) : std::nullopt;
    if (!content) return look_again{};
    fields.emplace_back(*field, *content);
  }
  if (fields.empty()) return look_again{};
  return cache_hit{std::move(fields)};
}

watch_reply parse_error(std::string_view rest) {
  auto const remaining = take_number<std::int64_t>(rest, ' ');
  if (!remaining) return look_again{};
  return load_backing_off{std::string(rest), milliseconds(*remaining)};
}

}  // namespace

std::string_view kind_letter(cache_value const& value) {
  if (std::holds_alternative<absent>(value)) return "n";
  return layout_letter(std::holds_alternative<hash_fields>(value) ? layout::hash : layout::string);
}

cache_value string_entry(std::string_view text) {
  if (text == absent_marker) return absent{};
  return std::string(text);
}

cache_value hash_entry(hash_fields fields) {
  if (fields.size() == 1 && fields.front().first == absent_marker) return absent{};
  return fields;
}

bool is_lock(cache_value const& value) {
  auto const* const text = std::get_if<std::string>(&value);
  return text && is_own_token(*text);
}

failure check_no_lock(cache_key const& key, cache_value const& value) {
  if (!is_lock(value)) return {};
  return make_failure(errc::wrong_type,
                      "a lock of the name " + in_quotes(key.str()) +
                          " is held, so it is no entry; give the cache a prefix of its own "
                          "(cache_options::prefix), or, if no lock has this name, DEL the key");
}

failure check_entry(cache_key const& key, cache_value const& value) {
  auto refuse = [&](std::string_view why) {
    return make_failure(errc::invalid_value,
                        "the value for " + in_quotes(key.str()) + " " + std::string(why));
  };
  if (auto const* text = std::get_if<std::string>(&value); text && *text == absent_marker) {
    return refuse("is the marker of a negative entry; store `absent` for that");
  }
  if (is_lock(value)) {
    return refuse("is what the owner token of a lock looks like; the framed format can store it");
  }
  if (auto const* fields = std::get_if<hash_fields>(&value)) {
    if (fields->empty()) return refuse("is a hash without fields, which Redis cannot hold");
    for (auto const& [field, content] : *fields) {
      if (field == absent_marker) return refuse("has the marker of a negative entry as a field");
    }
  }
  return {};
}

std::string value_event(cache_value const& value) {
  if (std::holds_alternative<absent>(value)) return "n";
  if (value_bytes(value) > max_event_bytes) return look_event();
  if (auto const* text = std::get_if<std::string>(&value)) return "s" + *text;
  std::string out = "h";
  for (auto const& [field, content] : std::get<hash_fields>(value)) {
    add_block(out, field);
    add_block(out, content);
  }
  return out;
}

std::string stored_event() { return "v"; }

bool is_stored_event(std::string_view message) { return message == "v"; }

std::string error_event(std::string_view text, milliseconds back_off) {
  if (back_off.count() <= 0) return look_event();
  return "e" + std::to_string(back_off.count()) + " " + std::string(text);
}

std::string look_event() { return "."; }

claim_event split_event(std::string_view event) {
  if (!event.starts_with('#')) return {0, event};
  event.remove_prefix(1);
  auto const claim = take_number<std::uint64_t>(event, ' ');
  if (!claim) return {};
  return {*claim, event};
}

watch_reply parse_event(std::string_view message) {
  if (message.empty()) return look_again{};
  std::string_view const rest = message.substr(1);
  switch (message.front()) {
    case 'n':
      return cache_hit{absent{}};
    case 's':
      return cache_hit{std::string(rest)};
    case 'h':
      return parse_fields(rest);
    case 'e':
      return parse_error(rest);
    default:
      return look_again{};
  }
}

}  // namespace herdlock::redis
