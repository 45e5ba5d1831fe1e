#include "stores/redis/queue/lease_messages.hpp"

namespace herdlock::redis {

// A script has as many of the keys as it counts.
void encode_step(command_writer& out, lease_step const& step, resource const& name,
                 std::initializer_list<step_argument> rest) {
  constexpr std::string_view side_keys[] = {fence_role, queue_role, last_role};
  auto const count = whole_number<std::size_t>(step.text.key_count).value_or(1);
  out.begin(step.text, step.form);
  out.add(name.str());
  for (std::size_t i = 0; i + 1 < count; ++i) out.add_side_key(name.str(), side_keys[i]);
  for (auto const& one : rest) {
    if (auto const* text = std::get_if<std::string_view>(&one)) {
      out.add(*text);
    } else if (auto const* number = std::get_if<std::int64_t>(&one)) {
      out.add_number(*number);
    } else {
      for (auto const& each : std::get<std::span<std::string const>>(one)) out.add(each);
    }
  }
  out.end();
}

result<held> parse_held(reply const& answer, std::string_view name) {
  auto const pttl = answer.number(1);
  auto const fence = answer.number(3);
  if (answer.nodes() < 4 || !pttl || !fence || *fence <= 0) return unexpected_reply(name);
  return held{remaining_of(*pttl),
              std::string(answer.text(2)),
              {static_cast<std::uint64_t>(*fence)},
              answer.number(4).value_or(0) == 1};
}

result<grant_or_held> parse_grant_or_held(reply const& answer, std::string_view name) {
  if (answer.kind() == reply_kind::list) {
    auto state = parse_held(answer, name);
    if (state.has_error()) return state.error();
    return grant_or_held(*std::move(state));
  }
  auto const fence = answer.number();
  if (!fence || *fence <= 0) return unexpected_reply(name);
  return grant_or_held(fencing_token{static_cast<std::uint64_t>(*fence)});
}

acquire_reply busy_of(held const& state) {
  return busy{owner_label(state.holder), state.remaining};
}

member_name::member_name(milliseconds ttl, owner_token const& owner)
    : tail_(" " + std::to_string(ttl.count()) + " " + owner.str()), present_("-" + tail_) {}

void member_name::go_by(grant_subscription const& at) {
  bool const same = at.listening() == pushed_ && at.subscriber() == subscriber_;
  if (same && !others_.empty()) return;
  if (!same) {
    subscriber_ = at.subscriber();
    pushed_ = at.listening();
    auto before = std::exchange(present_, (pushed_ ? subscriber_ : "-") + tail_);
    ++form_;
    std::erase(others_, present_);
    may_have(std::move(before));
  }
  // Also from an earlier wait of the same owner.
  may_have("-" + tail_);
  may_have(subscriber_ + tail_);
}

void member_name::may_have(std::string name) {
  bool const known = name == present_ || std::ranges::find(others_, name) != others_.end();
  if (!known) others_.push_back(std::move(name));
}

std::string_view owner_in(std::string_view member) {
  for (int i = 0; i < 2; ++i) {
    auto const space = member.find(' ');
    if (space == std::string_view::npos) return {};
    member.remove_prefix(space + 1);
  }
  return member;
}

result<acquire_reply> acquire_message::parse(reply const& answer) const {
  auto const parsed = parse_grant_or_held(answer, name());
  if (parsed.has_error()) return parsed.error();
  if (auto const* fencing = std::get_if<fencing_token>(&*parsed))
    return acquire_reply(grant{*fencing});
  auto const& state = std::get<held>(*parsed);
  if (state.holder != asked.owner.str()) return busy_of(state);
  return acquire_reply(grant{state.fencing, grant_validity{sent, state.remaining}});
}

void enter_message::carried_by(connection& server) {
  at = subscriptions->at(server);
  member->go_by(*at);
  form = member->form();
}

result<grant_or_held> enter_message::parse(reply const& answer) const {
  auto parsed = parse_grant_or_held(answer, name());
  auto* const state = parsed.has_value() ? std::get_if<held>(&*parsed) : nullptr;
  if (state) {
    state->at = at;
    state->form = form;
  }
  return parsed;
}

void enter_message::encode(command_writer& out, script_form how) const {
  encode_step(
      out, {lease_scripts().enter, how}, asked.name,
      {asked.owner.str(), asked.ttl.count(), fence_floor, member->present(), member->others()});
}

// With its source, always: one that the server does not know by its hash is sent again, and would
// come behind the owner's next arrival, and take that out of the queue.
void leave_message::encode(command_writer& out, script_form) const {
  encode_step(out, {lease_scripts().leave, script_form::with_source}, asked.name,
              {asked.owner.str(), fence_floor, member->present(), member->others()});
}

result<leave_message::value_type> leave_message::parse(reply const& answer) const {
  if (answer.kind() != reply_kind::list) return value_type();
  auto state = parse_held(answer, name());
  if (state.has_error()) return state.error();
  return value_type(*std::move(state));
}

result<inspect_message::value_type> inspect_message::parse(reply const& answer) const {
  if (answer.kind() == reply_kind::null) return value_type();
  auto const pttl = answer.number(1);
  auto const fence = answer.number(3);
  auto const waiting = answer.number(4);
  if (!pttl || !fence || !waiting || *waiting < 0) return unexpected_reply(name());
  lease_info info{owner_label(answer.text(2)),
                  {static_cast<std::uint64_t>(*fence)},
                  remaining_of(*pttl),
                  static_cast<std::size_t>(*waiting)};
  for (std::size_t i = 5; i < answer.nodes() && info.waiters.size() < limits::max_listed; ++i) {
    info.waiters.push_back(owner_label(owner_in(answer.text(i))));
  }
  return value_type(std::move(info));
}

}  // namespace herdlock::redis
