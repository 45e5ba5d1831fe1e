#include "stores/redis/exchange/report_exchange.hpp"

#include <utility>

#include "stores/redis/client/operation.hpp"
#include "stores/redis/exchange/subscriptions.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/scripts/fleet_scripts.hpp"

namespace herdlock::redis {
namespace {

// Under the name of the topic, and of cache entries' channels: a user has rights to both.
constexpr std::string_view even_role = "reports:0", odd_role = "reports:1";

struct report_message {
  using value_type = void;
  static constexpr std::string_view verb = "report to the fleet of";
  store_report what;
  std::string channel;

  std::string_view name() const { return what.topic; }
  void encode(command_writer& out, script_form form) const {
    out.begin(fleet_scripts().report, form);
    out.add_side_key(what.topic, even_role);
    out.add_side_key(what.topic, odd_role);
    out.add_number(report_store::keeps_for.count());
    out.add(what.process);
    out.add_number(static_cast<std::int64_t>(what.number));
    out.add(what.text);
    out.add(channel);
    out.end();
  }
  result<void> parse(reply const&) const { return boost::system::in_place_value; }
};

struct reports_message {
  using value_type = report_exchange::kept_reports;
  static constexpr std::string_view verb = "ask for the reports of the fleet of";
  std::string topic;

  std::string_view name() const { return topic; }
  void encode(command_writer& out, script_form form) const {
    out.begin(fleet_scripts().reports, form);
    out.add_side_key(topic, even_role);
    out.add_side_key(topic, odd_role);
    out.add_number(report_store::keeps_for.count());
    out.end();
  }
  result<value_type> parse(reply const& answer) const {
    auto const told = answer.kind() == reply_kind::list ? answer.number(1) : std::nullopt;
    if (!told || *told < 0) return unexpected_reply(name());
    value_type kept{static_cast<std::uint64_t>(*told), {}};
    for (std::size_t i = 2; i < answer.nodes(); ++i) kept.texts.emplace_back(answer.text(i));
    return kept;
  }
};

}  // namespace

std::string report_exchange::channel_of(std::string_view topic) const {
  return side_key_of(topic, events_role(commands_->how().database) + ":reports");
}

void report_exchange::report(store_report what, handler<void> done) {
  auto channel = channel_of(what.topic);
  operation<report_message>::start(*commands_, report_message{std::move(what), std::move(channel)},
                                   std::move(done));
}

void report_exchange::listen(std::string topic, std::weak_ptr<report_listener> to) {
  drop_without_listener(subscriptions_, *events_);
  auto channel = channel_of(topic);
  subscriptions_.push_back(std::make_shared<subscription>(
      subscription{std::move(topic), std::move(channel), std::move(to)}));
  events_->open();
  if (events_->up()) subscribe(*subscriptions_.back());
}

void report_exchange::on_connection_up() {
  for (auto const& one : subscriptions_) subscribe(*one);
}

// What was told while we did not listen is lost.
void report_exchange::on_connection_down() {
  for (auto const& one : subscriptions_) {
    one->heard.reset();
    one->missed = true;
  }
}

// ["subscribe", channel, count] or ["message", channel, event]; an error when the user may not:
// then this process reports and hears nothing.
void report_exchange::on_message(reply const& message) {
  if (message.is_error() || message.nodes() < 4) return;
  auto const keep = shared_from_this();
  drop_without_listener(subscriptions_, *events_);
  // Listeners may come meanwhile.
  auto const all = subscriptions_;
  for (auto const& one : all) {
    if (one->channel != message.text(2)) continue;
    if (message.text(1) == "subscribe") one->looked.reset();
    if (message.text(1) == "message") on_event(*one, message.text(3));
    if (one->missed) look(one);
  }
}

void report_exchange::on_event(subscription& at, std::string_view event) {
  auto const number = take_number<std::uint64_t>(event, ' ');
  if (!number) return;
  at.missed = at.missed || !at.heard || *number != *at.heard + 1;
  at.heard = *number;
  if (auto const to = at.to.lock()) to->on_report(event);
}

void report_exchange::look(subscription_ptr const& at) {
  auto const now = clock::now();
  if (at->looked && now - *at->looked < least_between_looks) return;
  at->looked = now;
  at->missed = false;
  auto on_kept = [at](result<kept_reports> found) {
    if (found.has_error()) {
      at->missed = true;  // at the next word
      return;
    }
    for (auto const& text : found->texts) {
      if (auto const to = at->to.lock()) to->on_report(text);
    }
  };
  operation<reports_message>::start(*commands_, reports_message{at->topic}, std::move(on_kept));
}

}  // namespace herdlock::redis
