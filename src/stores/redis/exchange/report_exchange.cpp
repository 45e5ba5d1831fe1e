#include "stores/redis/exchange/report_exchange.hpp"

#include <chrono>
#include <utility>

#include "stores/redis/client/operation.hpp"
#include "stores/redis/exchange/kept_reports.hpp"
#include "stores/redis/exchange/subscriptions.hpp"
#include "stores/redis/jitter.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/scripts/fleet_scripts.hpp"
#include "stores/redis/timers.hpp"

namespace herdlock::redis {
namespace {

std::string channel_of(std::string_view topic, router const& at) {
  return side_key_of(topic, events_role(at.how().database) + ":reports");
}

struct report_message {
  using value_type = void;
  static constexpr std::string_view verb = "report to the fleet of";
  store_report what;
  std::string channel;

  std::string_view name() const { return what.topic; }
  void encode(command_writer& out, script_form form) const {
    out.begin(fleet_scripts().report, form);
    out.add_side_key(what.topic, even_reports_role);
    out.add_side_key(what.topic, odd_reports_role);
    out.add_number(report_store::keeps_for.count());
    out.add(what.process);
    out.add_number(static_cast<std::int64_t>(what.number));
    out.add(what.text);
    out.add(channel);
    out.end();
  }
  result<void> parse(reply const&) const { return boost::system::in_place_value; }
};

// No script: the server copies the hash into its answer, and works a tenth as long at that.
struct reports_message {
  using value_type = std::vector<std::string>;
  static constexpr std::string_view verb = "ask for the reports of the fleet of";
  std::string topic;
  std::string_view role;

  std::string_view name() const { return topic; }
  void encode(command_writer& out, script_form) const {
    out.begin("HGETALL");
    out.add_side_key(topic, role);
    out.end();
  }
  result<value_type> parse(reply const& answer) const {
    if (answer.kind() != reply_kind::list) return unexpected_reply(name());
    value_type texts;
    for (auto const text : kept_reports(answer)) texts.emplace_back(text);
    return texts;
  }
};

}  // namespace

/// One look: both windows. Whoever holds it has a part of the answer to come.
struct report_exchange::look {
  explicit look(subscription_ptr of) : at(std::move(of)) {}

  subscription_ptr at;
  int open = 2;
  algo::look_schedule::outcome how = algo::look_schedule::outcome::done;
};

report_wires& report_exchange::wires() {
  if (wires_.events) return wires_;
  wires_ = make_();
  wires_.events->attach(weak_from_this());
  return wires_;
}

void report_exchange::report(store_report what, handler<void> done) {
  auto& to = *wires().commands;
  wires().events->open();
  auto channel = channel_of(what.topic, to);
  operation<report_message>::start(to, report_message{std::move(what), std::move(channel)},
                                   std::move(done));
}

void report_exchange::listen(std::string topic, std::weak_ptr<report_listener> to) {
  auto const events = wires().events;
  drop_without_listener(subscriptions_, *events);
  auto channel = channel_of(topic, *wires().commands);
  subscriptions_.push_back(std::make_shared<subscription>(
      subscription{std::move(topic), std::move(channel), std::move(to),
                   asio::steady_timer(events->executor())}));
  events->open();
  if (events->up()) subscribe(*subscriptions_.back());
}

void report_exchange::close() {
  subscriptions_.clear();
  if (wires_.close) wires_.close();
}

void report_exchange::on_connection_up() {
  for (auto const& one : subscriptions_) subscribe(*one);
}

// What was told while we did not listen is lost.
void report_exchange::on_connection_down() {
  for (auto const& one : subscriptions_) {
    one->looks.lost();
    one->timer.cancel();
  }
}

// ["subscribe", channel, count] or ["message", channel, event]; an error when the user may not:
// then this process reports and hears nothing.
void report_exchange::on_message(reply const& message) {
  if (message.is_error() || message.nodes() < 4) return;
  auto const keep = shared_from_this();
  drop_without_listener(subscriptions_, *wires().events);
  // Listeners may come meanwhile.
  auto const all = subscriptions_;
  for (auto const& one : all) {
    if (one->channel != message.text(2)) continue;
    if (message.text(1) == "subscribe") one->looks.subscribed(clock::now(), random_part());
    if (message.text(1) == "message") on_event(*one, message.text(3));
    schedule(one);
  }
}

void report_exchange::on_event(subscription& at, std::string_view event) {
  auto const number = take_number<std::uint64_t>(event, ' ');
  if (!number) return;
  at.looks.heard(*number, clock::now(), random_part());
  if (auto const to = at.to.lock()) to->on_report(event);
}

void report_exchange::schedule(subscription_ptr const& at) {
  auto const due = at->looks.due();
  if (!due) return;
  auto const left = std::chrono::ceil<milliseconds>(*due - clock::now());
  if (left <= milliseconds{0}) return send_look(at);
  run_after(at->timer, left, weak_from_this(), [of = std::weak_ptr(at)](report_exchange& self) {
    if (auto const still = of.lock()) self.schedule(still);
  });
}

void report_exchange::send_look(subscription_ptr const& at) {
  at->looks.sent(clock::now());
  auto const both = std::make_shared<look>(at);
  auto const on_kept = [both, weak = weak_from_this()](result<texts> const& found) {
    if (found.has_error()) both->how = algo::look_schedule::outcome::failed;
    for (auto const& text : found.has_value() ? *found : texts()) {
      if (auto const to = both->at->to.lock()) to->on_report(text);
    }
    auto const self = weak.lock();
    if (--both->open != 0 || !self) return;
    both->at->looks.answered(both->how, clock::now(), random_part());
    self->schedule(both->at);
  };
  for (auto const role : {even_reports_role, odd_reports_role}) {
    operation<reports_message>::start(*wires().commands, reports_message{at->topic, role}, on_kept);
  }
}

}  // namespace herdlock::redis
