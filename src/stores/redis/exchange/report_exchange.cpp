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

struct texts_part {
  std::string next;
  std::vector<std::string> texts;
};

// No script: the server copies the hash into its answer, and works a tenth as long at that.
struct reports_message {
  using value_type = texts_part;
  static constexpr std::string_view verb = "ask for the reports of the fleet of";
  std::string topic;
  std::string_view role;
  std::string cursor;

  std::string_view name() const { return topic; }
  void encode(command_writer& out, script_form) const {
    out.begin("HSCAN");
    out.add_side_key(topic, role);
    out.add(cursor);
    out.add("COUNT");
    out.add(reports_in_a_part);
    out.end();
  }
  result<value_type> parse(reply const& answer) const {
    if (!is_part_of_reports(answer)) return unexpected_reply(name());
    auto const part = reports_in(answer);
    return texts_part{std::string(part.next), {part.texts.begin(), part.texts.end()}};
  }
};

/// Reads both hashes of a topic, one part behind the other.
class reading : public std::enable_shared_from_this<reading> {
 public:
  using part_handler = std::function<void(std::vector<std::string> const&)>;

  reading(std::shared_ptr<router> from, std::string topic, part_handler on_part,
          std::function<void(failure)> done)
      : from_(std::move(from)),
        topic_(std::move(topic)),
        on_part_(std::move(on_part)),
        done_(std::move(done)) {}

  void read(std::string_view role, std::string cursor) {
    auto on_answer = [self = shared_from_this(), role](result<texts_part> const& found) {
      self->on_answer(role, found);
    };
    operation<reports_message>::start(*from_, reports_message{topic_, role, std::move(cursor)},
                                      std::move(on_answer));
  }

 private:
  void on_answer(std::string_view role, result<texts_part> const& found) {
    if (found.has_error()) return done_(found.error());
    on_part_(found->texts);
    if (found->next != "0") return read(role, found->next);
    if (role == even_reports_role) return read(odd_reports_role, "0");
    done_({});
  }

  std::shared_ptr<router> const from_;
  std::string const topic_;
  part_handler const on_part_;
  std::function<void(failure)> const done_;
};

// Other failures come again: such a look is not repeated.
bool may_be_read_later(failure const& why) {
  return why == errc::unavailable || why == errc::timed_out || why == errc::overloaded;
}

}  // namespace

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
  auto const all = subscriptions_;
  for (auto const& one : all) {
    one->looks.lost();
    one->timer.cancel();
    if (!std::exchange(one->hears, false)) continue;
    if (auto const to = one->to.lock()) to->on_deaf();
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
    if (message.text(1) == "subscribe") on_subscribed(*one);
    if (message.text(1) == "message") on_event(*one, message.text(3));
    schedule(one);
  }
}

void report_exchange::on_subscribed(subscription& at) {
  at.looks.subscribed(clock::now(), random_part());
  if (std::exchange(at.hears, true)) return;
  if (auto const to = at.to.lock()) to->on_listening();
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
  auto tell = [at](texts const& found) {
    for (auto const& text : found) {
      if (auto const to = at->to.lock()) to->on_report(text);
    }
  };
  auto done = [at, weak = weak_from_this()](failure const& why) {
    using outcome = algo::look_schedule::outcome;
    auto const self = weak.lock();
    if (!self) return;
    at->looks.answered(may_be_read_later(why) ? outcome::failed : outcome::done, clock::now(),
                       random_part());
    self->schedule(at);
  };
  std::make_shared<reading>(wires().commands, at->topic, std::move(tell), std::move(done))
      ->read(even_reports_role, "0");
}

void report_exchange::read(std::string topic, handler<texts> done) {
  auto const all = std::make_shared<texts>();
  auto const to = std::make_shared<handler<texts>>(std::move(done));
  auto add = [all](texts const& found) { all->insert(all->end(), found.begin(), found.end()); };
  auto tell = [all, to](failure const& why) {
    std::move (*to)(why.code ? result<texts>(why) : result<texts>(std::move(*all)));
  };
  std::make_shared<reading>(wires().commands, std::move(topic), std::move(add), std::move(tell))
      ->read(even_reports_role, "0");
}

}  // namespace herdlock::redis
