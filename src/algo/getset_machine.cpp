#include "algo/getset_machine.hpp"

#include <charconv>

namespace herdlock::algo {
namespace {

using kind = getset_action::kind;

constexpr std::string_view blanks = " \t\r\n";
constexpr double latest_seconds = 1e11;
// SETNX said "held" and GET "nothing there": released in between. Then once more; a third time the
// caller's own pause is better.
constexpr int most_rounds = 2;

std::string_view trimmed(std::string_view text) {
  auto const first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

std::optional<unix_time> parse_getset_stamp(std::string_view stored) {
  std::string_view const digits = trimmed(stored);
  double seconds = 0;
  auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  bool const whole = ec == std::errc() && end == digits.data() + digits.size();
  if (digits.empty() || !whole || !(seconds >= -latest_seconds && seconds <= latest_seconds)) {
    return std::nullopt;
  }
  return unix_time(static_cast<std::int64_t>(seconds * 1000));
}

std::string getset_machine::stamp(unix_time now, std::string const& mark) const {
  auto const end = std::chrono::ceil<std::chrono::seconds>(now + times_.ttl + times_.skew);
  return std::to_string(end.count()) + mark;
}

bool getset_machine::is_held_by_us(std::string_view stored) const {
  auto const digits = stored.find_last_not_of(blanks);
  return digits != std::string_view::npos && stored.substr(digits + 1) == marks_.held;
}

std::optional<unix_time> getset_machine::our_end(getset_reply const& reply, unix_time now) const {
  if (!reply.value || !is_held_by_us(*reply.value)) return std::nullopt;
  auto const end = parse_getset_stamp(*reply.value);
  if (!end || now >= *end - times_.skew) return std::nullopt;
  return *end - times_.skew;
}

getset_action getset_machine::go(step next, kind what, std::string value) {
  step_ = next;
  return {what, std::move(value)};
}

getset_action getset_machine::finish(getset_outcome outcome, milliseconds remaining) {
  outcome_ = outcome;
  remaining_ = remaining;
  return {kind::finish};
}

// A value that is no time never expires. Other clients work until the very time in their key, by
// clocks that may be `skew` behind ours.
bool getset_machine::is_expired(std::optional<unix_time> end, unix_time now) const {
  return end && now > *end + times_.skew;
}

milliseconds getset_machine::left_of(std::optional<unix_time> end, unix_time now) const {
  return end && !is_expired(end, now) ? *end + times_.skew - now : milliseconds(0);
}

getset_action getset_machine::begin(unix_time now) {
  if (verb_ != getset_verb::acquire) return go(step::look_before, kind::get);
  ++rounds_;
  return go(step::set, kind::set_if_absent, stamp(now, marks_.held));
}

getset_action getset_machine::resume(getset_reply const& reply, unix_time now) {
  switch (step_) {
    case step::set:
      return reply.done ? finish(getset_outcome::granted) : go(step::look, kind::get);
    case step::look:
      return after_look(reply, now);
    case step::bid:
      return after_bid(reply, now);
    case step::confirm:
      // The reply does not matter: it is the bid, or what a loser put over it. The bid had won.
      return finish(getset_outcome::granted);
    case step::look_before:
      return after_look_before(reply, now);
    case step::renew:
      return after_renew(reply);
    case step::undo:
      return finish(getset_outcome::lost);
    case step::remove:
      return finish(reply.done ? getset_outcome::released : getset_outcome::lost);
  }
  return finish(getset_outcome::lost);
}

getset_action getset_machine::after_look(getset_reply const& reply, unix_time now) {
  if (!reply.value) return rounds_ < most_rounds ? begin(now) : finish(getset_outcome::busy);
  if (auto const ours = our_end(reply, now)) {
    return finish(getset_outcome::held_already, *ours - now);
  }
  auto const end = parse_getset_stamp(*reply.value);
  if (!is_expired(end, now)) return finish(getset_outcome::busy, left_of(end, now));
  return go(step::bid, kind::get_and_set, stamp(now, marks_.bid));
}

getset_action getset_machine::after_bid(getset_reply const& reply, unix_time now) {
  auto const end = reply.value ? parse_getset_stamp(*reply.value) : std::nullopt;
  // Nothing there: it was released meanwhile, and this GETSET was as good as a SETNX.
  if (reply.value && !is_expired(end, now)) {
    return finish(getset_outcome::busy, left_of(end, now));
  }
  return go(step::confirm, kind::get_and_set, stamp(now, marks_.held));
}

getset_action getset_machine::after_look_before(getset_reply const& reply, unix_time now) {
  auto const end = reply.value ? parse_getset_stamp(*reply.value) : std::nullopt;
  bool const held = reply.value && !is_expired(end, now);
  switch (verb_) {
    case getset_verb::inspect:
      if (!held) return finish(getset_outcome::free);
      return finish(getset_outcome::held, left_of(end, now));
    case getset_verb::force_release:
      return held ? go(step::remove, kind::remove) : finish(getset_outcome::lost);
    case getset_verb::renew:
      if (!our_end(reply, now)) return finish(getset_outcome::lost);
      return go(step::renew, kind::get_and_set, stamp(now, marks_.held));
    default:
      // A key of ours that is over is left to the next taker: a DEL now could hit its successor.
      if (!our_end(reply, now)) return finish(getset_outcome::lost);
      return go(step::remove, kind::remove);
  }
}

getset_action getset_machine::after_renew(getset_reply const& reply) {
  if (reply.value && is_held_by_us(*reply.value)) return finish(getset_outcome::renewed);
  // Taken away since the look. If nothing was there, the renewal has just made a key again: a lost
  // lease is not taken anew, so the key goes. Another's value that was overwritten cannot be put
  // back in one step; its holder will find it lost, and nobody gets in before ours expires.
  if (!reply.value) return go(step::undo, kind::remove);
  return finish(getset_outcome::lost);
}

}  // namespace herdlock::algo
