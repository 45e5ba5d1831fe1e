#include "stores/redis/exchange/rules_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "stores/redis/cache/entry_codec.hpp"
#include "stores/redis/client/operation.hpp"
#include "stores/redis/exchange/subscriptions.hpp"
#include "stores/redis/jitter.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/scripts/fleet_scripts.hpp"
#include "stores/redis/timers.hpp"

namespace herdlock::redis {
namespace {

constexpr std::string_view rules_role = "rules";
// What a script can count with; as microseconds since 1970, in the year 2255.
constexpr std::uint64_t greatest_version = std::uint64_t{1} << 53;
constexpr std::string_view keep_role = "keep";

// As fleet_rules.lua tells them.
std::optional<store_rules> told_rules(std::string_view event) {
  auto const version = take_number<std::uint64_t>(event, ' ');
  if (!version || *version > greatest_version) return std::nullopt;
  return store_rules{*version, std::string(event)};
}

struct read_rules_message {
  using value_type = store_rules;
  static constexpr std::string_view verb = "read the rules of";
  std::string topic;

  std::string_view name() const { return topic; }
  void encode(command_writer& out, script_form) const {
    out.begin("HGETALL");
    out.add_side_key(topic, rules_role);
    out.end();
  }
  result<store_rules> parse(reply const& answer) const {
    if (answer.kind() != reply_kind::list) return unexpected_reply(name());
    store_rules found;
    for (std::size_t i = 1; i + 1 < answer.nodes(); i += 2) {
      if (answer.text(i) == "version") {
        auto const version = whole_number<std::uint64_t>(answer.text(i + 1));
        if (!version || *version > greatest_version) return no_version();
        found.version = *version;
      }
      if (answer.text(i) == "text") found.text = answer.text(i + 1);
    }
    return found;
  }
  failure no_version() const {
    return make_failure(errc::invalid_value,
                        "the rules of " + in_quotes(topic) +
                            " have a version that is none, so somebody else wrote them: delete "
                            "the key " +
                            in_quotes(side_key_of(topic, rules_role)) + ", and write them again");
  }
};

struct write_rules_message {
  using value_type = std::uint64_t;
  static constexpr std::string_view verb = "write the rules of";
  rules_change what;
  std::string channel;

  std::string_view name() const { return what.topic; }
  void encode(command_writer& out, script_form form) const {
    out.begin(fleet_scripts().rules, form);
    out.add_side_key(what.topic, rules_role);
    out.add_number(static_cast<std::int64_t>(what.expected));
    out.add(what.text);
    out.add(channel);
    out.end();
  }
  result<std::uint64_t> parse(reply const& answer) const {
    auto const version = answer.number();
    if (!version || *version < 0) return unexpected_reply(name());
    return static_cast<std::uint64_t>(*version);
  }
};

struct prolong_message {
  using value_type = bool;
  static constexpr std::string_view verb = "prolong";
  prolong_request what;

  std::string_view name() const { return what.key.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(fleet_scripts().prolong, form);
    out.add(what.key.str());
    out.add_side_key(what.key.str(), keep_role);
    out.add_number(what.to.count());
    out.add_number(what.at_most.count());
    out.add(absent_marker);
    out.end();
  }
  result<bool> parse(reply const& answer) const { return yes_or_no<bool>(answer, name()); }
};

struct count_message {
  using value_type = std::uint64_t;
  static constexpr std::string_view verb = "count who listens to";
  // An event is told by the node to which the listener is connected.
  static constexpr bool for_this_server = true;
  std::string channel;

  std::string_view name() const { return channel; }
  void encode(command_writer& out, script_form) const {
    out.begin("PUBSUB");
    out.add("NUMSUB");
    out.add(channel);
    out.end();
  }
  result<std::uint64_t> parse(reply const& answer) const {
    auto const listen = answer.nodes() == 3 ? answer.number(2) : std::nullopt;
    if (!listen || *listen < 0) return unexpected_reply(name());
    return static_cast<std::uint64_t>(*listen);
  }
};

/// What all servers say. The first error is the answer.
class listener_sum {
 public:
  listener_sum(handler<listener_count> done, std::size_t servers)
      : done_(std::move(done)), missing_(servers) {}

  void add(result<std::uint64_t> const& said) {
    if (said.has_error() && !why_.code) why_ = said.error();
    if (said.has_value()) sum_ += *said;
    if (--missing_ != 0) return;
    tell(why_.code ? result<listener_count>(why_) : result<listener_count>(listener_count(sum_)));
  }
  void tell(result<listener_count> answer) { std::move(done_)(std::move(answer)); }

 private:
  handler<listener_count> done_;
  std::size_t missing_;
  std::uint64_t sum_ = 0;
  failure why_;
};

}  // namespace

// Under the name of the topic, and of cache entries' channels: a user has rights to both.
std::string rules_exchange::channel_of(std::string_view topic) const {
  return side_key_of(topic, events_role(commands_->how().database) + ":rules");
}

void rules_exchange::read_rules(std::string topic, handler<store_rules> done) {
  operation<read_rules_message>::start(*commands_, read_rules_message{std::move(topic)},
                                       std::move(done));
}

void rules_exchange::write_rules(rules_change what, handler<std::uint64_t> done) {
  auto channel = channel_of(what.topic);
  operation<write_rules_message>::start(
      *commands_, write_rules_message{std::move(what), std::move(channel)}, std::move(done));
}

void rules_exchange::count_listeners(std::string topic, handler<listener_count> done) {
  // The nodes of a cluster are known behind the first command.
  auto channel = channel_of(topic);
  read_rules(std::move(topic), [at = commands_, channel = std::move(channel),
                                done = std::move(done)](result<store_rules> const& found) mutable {
    if (found.has_error()) return std::move(done)(found.error());
    auto const servers = at->servers();
    auto const all = std::make_shared<listener_sum>(std::move(done), servers.size());
    for (auto const& each : servers) {
      operation<count_message>::start(*each, count_message{channel},
                                      [all](result<std::uint64_t> said) { all->add(said); });
    }
    if (servers.empty()) all->tell(std::nullopt);
  });
}

void rules_exchange::prolong(prolong_request what, handler<bool> done) {
  operation<prolong_message>::start(*commands_, prolong_message{std::move(what)}, std::move(done));
}

void rules_exchange::listen_for_rules(std::string topic, std::weak_ptr<rules_listener> to) {
  drop_without_listener(subscriptions_, *events_);
  auto channel = channel_of(topic);
  subscriptions_.push_back(std::make_shared<subscription>(subscription{
      std::move(topic), channel, std::move(to), asio::steady_timer(commands_->executor())}));
  events_->open();
  if (events_->up()) events_->subscription("SUBSCRIBE", channel);
}

void rules_exchange::on_connection_up() {
  for (auto const& one : subscriptions_) events_->subscription("SUBSCRIBE", one->channel);
}

void rules_exchange::on_connection_down() {
  for (auto const& one : subscriptions_) {
    one->looks.lost();
    one->timer.cancel();
  }
}

// ["subscribe", channel, count] or ["message", channel, rules]; an error when the user may not.
void rules_exchange::on_message(reply const& message) {
  if (message.is_error() || message.nodes() < 4) return;
  auto const keep = shared_from_this();
  drop_without_listener(subscriptions_, *events_);
  auto const channel = message.text(2);
  if (message.text(1) == "subscribe") {
    // From here on nothing is missed; what was written before is asked for.
    for (auto const& one : subscriptions_) {
      if (one->channel != channel) continue;
      one->looks.subscribed(clock::now(), random_part());
      schedule(one);
    }
  } else if (message.text(1) == "message") {
    if (auto const now = told_rules(message.text(3))) tell(channel, *now);
  }
}

void rules_exchange::schedule(subscription_ptr const& at) {
  auto const due = at->looks.due();
  if (!due) return;
  auto const left = std::chrono::ceil<milliseconds>(*due - clock::now());
  if (left <= milliseconds{0}) return look(at);
  run_after(at->timer, left, weak_from_this(), [of = std::weak_ptr(at)](rules_exchange& self) {
    if (auto const still = of.lock()) self.schedule(still);
  });
}

void rules_exchange::look(subscription_ptr const& at) {
  at->looks.sent(clock::now());
  auto on_found = [weak = weak_from_this(), at](result<store_rules> found) {
    auto const self = weak.lock();
    if (!self) return;
    using outcome = algo::look_schedule::outcome;
    auto const how = found.has_error() ? outcome::failed : outcome::done;
    at->looks.answered(how, clock::now(), random_part());
    self->schedule(at);
    if (found.has_value() && found->version != 0) self->tell(at->channel, *found);
  };
  read_rules(at->topic, std::move(on_found));
}

void rules_exchange::tell(std::string_view channel, store_rules const& now) {
  // Listeners may come meanwhile, and a channel's name may be one of theirs.
  std::vector<std::weak_ptr<rules_listener>> told;
  for (auto const& one : subscriptions_) {
    if (one->channel == channel) told.push_back(one->to);
  }
  for (auto const& weak : told) {
    if (auto const to = weak.lock()) to->on_rules(now);
  }
}

}  // namespace herdlock::redis
