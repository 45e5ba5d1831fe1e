#include "stores/redis/cache/cache_watches.hpp"

#include <algorithm>

#include "stores/redis/cache/entry_codec.hpp"
#include "stores/redis/client/operation.hpp"
#include "stores/redis/scripts/cache_scripts.hpp"
#include "stores/redis/wait_limits.hpp"

namespace herdlock::redis {
namespace {

// A watch that begins while the connection for events is lost ends after this.
constexpr milliseconds deaf_wait{50};

// The claim on a key.
struct look_message {
  using value_type = cache_watches::claim_seen;
  static constexpr std::string_view verb = "look at the claim on";
  cache_key key;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(cache_scripts().look, form);
    out.add_side_key(key.str(), claim_role);
    out.add_side_key(key.str(), claim_fence_role);
    out.end();
  }
  result<value_type> parse(reply const& answer) const {
    auto const left = answer.kind() == reply_kind::list ? answer.number(1) : std::nullopt;
    if (!left) return unexpected_reply(name());
    auto const number = answer.number(2);
    value_type seen;
    seen.number = number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
    seen.left = *left == -1 ? longest_wait : milliseconds(*left > 0 ? *left : *left == 0 ? 1 : 0);
    return seen;
  }
};

// Where events may be late the caller reads what there is (cache_port.cpp): that there is something
// is all that this hit says.
watch_reply reply_of(router const& commands, std::string_view message) {
  bool const is_hint = commands.events_may_be_late() && is_stored_event(message);
  return is_hint ? watch_reply(cache_hit{absent{}}) : parse_event(message);
}

}  // namespace

cache_watches::cache_watches(std::shared_ptr<router> commands, std::shared_ptr<connection> events,
                             std::shared_ptr<store_warnings> warnings)
    : commands_(std::move(commands)),
      events_(std::move(events)),
      warnings_(std::move(warnings)),
      timers_(std::make_shared<steady_shared_timer>(commands_->executor())) {}

cache_watches::entry::entry(cache_watches& home, channel& where, watch_request request,
                            handler<watch_reply> done)
    : asked(std::move(request)),
      caller(std::move(done)),
      wake([this, &home] { home.on_wake(*this); }),
      at(&where) {}

void cache_watches::watch(watch_request request, handler<watch_reply> done) {
  auto refuse = [&](errc code, std::string const& why) {
    detail::post_result<watch_reply>(
        commands_->executor(), std::move(done),
        cannot("watch", request.key.str(), commands_->how().failed(code, why)));
  };
  if (closed_) return refuse(errc::canceled, "the store is closed");
  if (watches_.size() >= max_watches) {
    return refuse(errc::overloaded, std::to_string(max_watches) + " watches are waiting already");
  }
  events_->open();
  auto const now = std::chrono::steady_clock::now();
  auto const id = ++last_id_;
  channel& at = channel_of(request.key);
  auto const wait = std::clamp(request.wait, milliseconds{0}, longest_wait);
  // Without a connection for events nothing is pushed; the caller then goes by its own back-off.
  auto const unheard = std::min(wait, lost_ ? deaf_wait : commands_->how().timeout);
  auto const first = events_->up() ? wait : unheard;
  entry& one =
      watches_.try_emplace(id, *this, at, std::move(request), std::move(done)).first->second;
  one.id = id;
  one.end = now + wait;
  one.caller.on_cancel([weak = weak_from_this(), id] {
    if (auto const self = weak.lock()) self->on_cancel(id);
  });
  at.watches.insert(id);
  timers_->add(one.wake, now + first);
  if (!events_->up()) return;
  if (at.asked == 0) return subscribe(at);
  if (at.asked == at.answered) look(at);
}

void cache_watches::close() {
  if (std::exchange(closed_, true)) return;
  timers_->close();
  while (!watches_.empty()) {
    complete(watches_.begin()->first,
             make_failure(errc::canceled,
                          commands_->how().display_name + ": the store handle is being closed"));
  }
}

// ---------------------------------------------------------------------------------- channels

cache_watches::channel& cache_watches::channel_of(cache_key const& key) {
  auto name = side_key_of(key.str(), events_role(commands_->how().database));
  auto const found = channels_.find(name);
  if (found != channels_.end()) return found->second;
  return channels_.emplace(name, channel{name, key, {}}).first->second;
}

void cache_watches::subscribe(channel& to) {
  ++to.asked;
  events_->subscription("SUBSCRIBE", to.name);
}

void cache_watches::on_connection_up() {
  lost_ = false;
  for (auto& [name, at] : channels_) {
    for (auto const id : at.watches) timers_->add(watches_.at(id).wake, watches_.at(id).end);
    subscribe(at);
  }
}

// What was published while we did not listen is lost: everybody looks for himself.
void cache_watches::on_connection_down() {
  auto const self = shared_from_this();
  lost_ = true;
  for (auto& [name, at] : channels_) at.asked = at.answered = 0;
  complete_every(watch_reply(look_again{}));
}

void cache_watches::complete_every(result<watch_reply> const& outcome) {
  std::vector<std::uint64_t> ids;
  for (auto const& [id, one] : watches_) ids.push_back(id);
  for (auto const id : ids) complete(id, outcome);
}

// ["subscribe", channel, count] or ["message", channel, event]; an error when the user may not. An
// error does not say which subscription it refuses; it is not ours when all of ours are confirmed.
void cache_watches::on_message(reply const& message) {
  auto const self = shared_from_this();
  if (message.is_error()) {
    auto const open = [](auto const& each) { return each.second.asked != each.second.answered; };
    if (std::none_of(channels_.begin(), channels_.end(), open)) return;
    for (auto& [name, at] : channels_) at.asked = at.answered = 0;
    auto const why = server_failure(message.text(), commands_->how().display_name);
    warn_of(why);
    return complete_every(why);
  }
  if (message.nodes() < 4) return;
  if (message.text(1) == "subscribe") return on_subscribed(message.text(2));
  if (message.text(1) == "message") on_event(message.text(2), message.text(3));
}

void cache_watches::warn_of(failure const& why) {
  if (!warnings_ || !(why == errc::access_denied)) return;
  warnings_->add("waiters for a load are not woken by its end, they ask again and again: " +
                 why.message);
}

// A channel that was left and entered again has the older confirmations still to come; only the
// last one says that nothing is missed from here on.
void cache_watches::on_subscribed(std::string_view name) {
  auto const found = channels_.find(name);
  if (found == channels_.end()) return;
  channel& at = found->second;
  if (++at.answered < at.asked) return;
  if (at.watches.empty()) return leave_if_unused(at);
  look(at);
}

// Events and replies come over two connections, so an event may be that of an earlier claim:
//   1. a load ends, its event is on the way;
//   2. invalidate() removes the value; a new load claims the key;
//   3. somebody comes, meets the new claim, and watches it;
//   4. only now the event of 1 is read: its value is from before the invalidate.
// So a watch takes what an event brings only if the event names the claim that its look saw, or a
// later one. Else, and before the look has been answered, the event only says "look again".
void cache_watches::on_event(std::string_view name, std::string_view event) {
  auto const found = channels_.find(name);
  if (found == channels_.end()) return;
  auto const told = split_event(event);
  auto const message = reply_of(*commands_, told.message);
  auto const self = shared_from_this();
  auto const ids = std::set<std::uint64_t>(found->second.watches);
  for (auto const id : ids) {
    auto const claim = watches_.at(id).claim;
    bool const ours = claim > 0 && told.claim >= claim;
    complete(id, ours ? message : watch_reply(look_again{}));
  }
}

// One look answers all that wait for the same key. Not who comes while it is under way: the server
// may have executed it before his claim(), and then it says nothing about the claim that he met.
void cache_watches::look(channel& at) {
  if (at.looking) {
    at.look_once_more = true;
    return;
  }
  at.looking = true;
  at.look_covers = last_id_;
  auto on_answer = [weak = weak_from_this(), name = at.name](result<claim_seen> seen) {
    if (auto const self = weak.lock()) self->on_look(name, std::move(seen));
  };
  operation<look_message>::start(*commands_, look_message{at.key}, std::move(on_answer));
}

void cache_watches::on_look(std::string const& name, result<claim_seen> seen) {
  auto const found = channels_.find(name);
  if (found == channels_.end()) return;
  channel& at = found->second;
  at.looking = false;
  if (seen.has_error() || seen->left == milliseconds{0}) return complete_all(at, look_again{});
  auto const silence = std::min(seen->left + expiry_slack, commands_->longest_silence());
  auto const over = std::chrono::steady_clock::now() + silence;
  for (auto const id : at.watches) {
    auto& one = watches_.at(id);
    if (id <= at.look_covers) one.claim = seen->number;
    timers_->add(one.wake, std::min(one.end, over));
  }
  if (std::exchange(at.look_once_more, false)) look(at);
}

// Forgotten only when no confirmation is under way, so that it cannot be taken for a later one.
void cache_watches::leave_if_unused(channel& from) {
  if (!from.watches.empty() || from.asked != from.answered) return;
  if (from.asked > 0) events_->subscription("UNSUBSCRIBE", from.name);
  channels_.erase(channels_.find(from.name));
}

// ---------------------------------------------------------------------------------- watches

void cache_watches::on_cancel(std::uint64_t id) {
  complete(id, make_failure(errc::canceled, commands_->how().display_name +
                                                ": the watch was cancelled by the caller"));
}

void cache_watches::complete(std::uint64_t id, result<watch_reply> outcome) {
  auto node = watches_.extract(id);
  if (node.empty()) return;
  entry& one = node.mapped();
  one.at->watches.erase(id);
  leave_if_unused(*one.at);
  // A value in the other layout than the caller reads is not an answer for him.
  if (auto const* hit = outcome.has_value() ? std::get_if<cache_hit>(&*outcome) : nullptr) {
    if (check_layout(one.asked.key, hit->value, one.asked.form).code) outcome = look_again{};
  }
  one.caller.post(commands_->executor(), std::move(outcome));
}

void cache_watches::complete_all(channel& at, watch_reply const& outcome) {
  auto const self = shared_from_this();
  auto const ids = std::set<std::uint64_t>(at.watches);
  for (auto const id : ids) complete(id, outcome);
}

void cache_watches::on_wake(entry& one) {
  if (one.end <= std::chrono::steady_clock::now() || !events_->up()) {
    return complete(one.id, watch_reply(look_again{}));
  }
  timers_->add(one.wake, one.end);
  look(*one.at);
}

}  // namespace herdlock::redis
