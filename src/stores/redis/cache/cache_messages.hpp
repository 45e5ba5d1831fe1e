// The commands of the cache port, and what their replies mean.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <herdlock/backend.hpp>
#include "stores/redis/cache/entry_codec.hpp"
#include "stores/redis/client/operation.hpp"

namespace herdlock::redis {

// The hit path: GET or HGETALL, nothing else. A negative entry is kept in the layout of the claim
// that made it, or as a string when a put did, and answers readers of both layouts: only when the
// server says WRONGTYPE a second command finds it.
struct get_message {
  using value_type = cache_lookup;
  static constexpr std::string_view verb = "read";
  cache_key key;
  layout asked;
  layout read;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form) const;
  result<cache_lookup> parse(reply const& answer) const;
  std::optional<get_message> after_error(reply const& answer) const;
};

struct claim_message {
  using value_type = claim_reply;
  static constexpr std::string_view verb = "claim";
  static constexpr errc in_moving_slot = errc::moving;
  claim_request asked;

  std::string_view name() const { return asked.key.str(); }
  void encode(command_writer& out, script_form form) const;
  result<claim_reply> parse(reply const& answer) const;
  result<claim_reply> hit(cache_value value) const;
};

struct extend_message {
  using value_type = renew_reply;
  static constexpr std::string_view verb = "extend the claim on";
  static constexpr errc in_moving_slot = errc::moving;
  cache_key key;
  owner_token owner;
  milliseconds ttl;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form form) const;
  result<renew_reply> parse(reply const& answer) const {
    return yes_or_no<renew_reply>(answer, name());
  }
};

// What writes an entry, and tells those who watch it.
template <class Request>
struct entry_message {
  static constexpr errc in_moving_slot = errc::moving;
  Request asked;
  std::string events;
  std::string event;

  std::string_view name() const { return asked.key.str(); }
  /// ttl, kind, channel, message, value or fields.
  void end_with_entry(command_writer& out) const;
};

result<fill_reply> parse_fill(reply const& answer, std::string_view name);

struct fill_message : entry_message<fill_request> {
  using value_type = fill_reply;
  static constexpr std::string_view verb = "fill";

  void encode(command_writer& out, script_form form) const;
  result<fill_reply> parse(reply const& answer) const { return parse_fill(answer, name()); }
};

struct fail_message {
  using value_type = fill_reply;
  static constexpr std::string_view verb = "report the failed load of";
  static constexpr errc in_moving_slot = errc::moving;
  cache_key key;
  owner_token owner;
  std::string error;
  milliseconds back_off;
  std::string events;
  std::string event = error_event(error, back_off);

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form form) const;
  result<fill_reply> parse(reply const& answer) const { return parse_fill(answer, name()); }
};

struct put_message : entry_message<put_request> {
  using value_type = void;
  static constexpr std::string_view verb = "put";

  void encode(command_writer& out, script_form form) const;
  result<void> parse(reply const& answer) const;
};

struct invalidate_message {
  using value_type = bool;
  static constexpr std::string_view verb = "invalidate";
  static constexpr errc in_moving_slot = errc::moving;
  cache_key key;
  std::string events;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form form) const;
  result<bool> parse(reply const& answer) const { return yes_or_no<bool>(answer, name()); }
};

struct expire_message {
  using value_type = bool;
  static constexpr std::string_view verb = "expire";
  static constexpr errc in_moving_slot = errc::moving;
  cache_key key;
  milliseconds keep;
  std::string events;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form form) const;
  result<bool> parse(reply const& answer) const { return yes_or_no<bool>(answer, name()); }
};

struct time_left_message {
  using value_type = std::optional<milliseconds>;
  static constexpr std::string_view verb = "ask for the time of";
  cache_key key;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form) const;
  result<std::optional<milliseconds>> parse(reply const& answer) const;
};

// In a cluster its name leads to the node that serves that slot: mostly the same one, so that the
// clock is mostly the same.
struct time_message {
  using value_type = std::chrono::microseconds;
  static constexpr std::string_view verb = "run";

  std::string_view name() const { return "TIME"; }
  void encode(command_writer& out, script_form) const;
  result<std::chrono::microseconds> parse(reply const& answer) const;
};

}  // namespace herdlock::redis
