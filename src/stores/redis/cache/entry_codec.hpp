// How cache entries and events look in Redis.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <herdlock/backend.hpp>

namespace herdlock::redis {

/// A negative entry: a string with this value, or a hash with this as its only field. The leading
/// NUL keeps it apart from text; a value equal to it is refused.
inline constexpr std::string_view absent_marker{"\0herdlock:absent", 16};

/// The letter of a layout in front of a claim's owner, and of a value's kind in the scripts.
inline std::string_view layout_letter(layout form) { return form == layout::hash ? "h" : "s"; }
std::string_view kind_letter(cache_value const& value);

/// An event carries its value or error up to this size; beyond it, it only says "look".
inline constexpr std::size_t max_event_bytes = 16 * 1024;
/// The longest error text that is kept for others; a longer one is cut.
inline constexpr std::size_t max_error_bytes = 4 * 1024;

cache_value string_entry(std::string_view text);
cache_value hash_entry(hash_fields fields);

/// Whether it is the text of an owner token that this library has made.
bool is_lock(cache_value const& value);
/// errc::wrong_type for what was read under the name of a lock that is held.
failure check_no_lock(cache_key const& key, cache_value const& value);
/// errc::invalid_value for what Redis cannot hold or what would be read as something else.
failure check_entry(cache_key const& key, cache_value const& value);

std::string value_event(cache_value const& value);
/// A value was written, and is to be read. Where events may be late nobody takes a value from them,
/// and they pass through all nodes of a cluster: so they bring none.
std::string stored_event();
bool is_stored_event(std::string_view message);
std::string error_event(std::string_view text, milliseconds back_off);
std::string look_event();

/// An event as it is published: `#NUMBER MESSAGE`, the number being the fencing token of the last
/// claim that there was. 0: none, or an event of a version that names no claim.
struct claim_event {
  std::uint64_t claim = 0;
  std::string_view message;
};
claim_event split_event(std::string_view event);

/// Of the message. Anything that brings no answer, or is not understood, is "look again".
watch_reply parse_event(std::string_view message);

}  // namespace herdlock::redis
