// Reports between the processes that share a server: a hash for each window, and a channel.
//
// They go over a connection of their own, which is made when somebody listens or reports first: a
// look is an answer of megabytes, and many reports come at once, which must not stand before a
// grant, a renewal or a fill.
//
// What is told has a number that grows by one, so whoever misses one sees that by the next.
// algo/look_schedule.hpp says when he asks for all that are kept.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/report_store.hpp>
#include "algo/look_schedule.hpp"
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// How reports go: apart from all that others wait for.
struct report_wires {
  std::shared_ptr<router> commands;
  std::shared_ptr<connection> events;  ///< not opened yet
  std::function<void()> close;         ///< of both
  /// They hold the events at the server of the locks; none in a cluster.
  std::vector<std::shared_ptr<connection_listener>> ties{};
};

/// All members on the executor.
class report_exchange final : public report_store,
                              public connection_listener,
                              public std::enable_shared_from_this<report_exchange> {
 public:
  using maker = std::function<report_wires()>;

  /// `make`: called once, by the first who listens or reports.
  explicit report_exchange(maker make) : make_(std::move(make)) {}

  bool pushes() const override { return true; }
  void report(store_report what, handler<void> done) override;
  void listen(std::string topic, std::weak_ptr<report_listener> to) override;
  void read(std::string topic, handler<std::vector<std::string>> done) override;
  void close();

 private:
  using texts = std::vector<std::string>;

  struct subscription {
    std::string topic;
    std::string channel;
    std::weak_ptr<report_listener> to;
    asio::steady_timer timer;                        // until the next look
    algo::look_schedule looks{milliseconds{3'000}};  // less than what is told is kept for
    bool hears = false;                              // the server has confirmed that it pushes
  };
  using subscription_ptr = std::shared_ptr<subscription>;

  void on_connection_up() override;
  void on_connection_down() override;
  void on_message(reply const& message) override;

  report_wires& wires();
  void subscribe(subscription const& one) {
    wires().events->subscription("SUBSCRIBE", one.channel);
  }
  void on_subscribed(subscription& at);
  void on_event(subscription& at, std::string_view event);
  void schedule(subscription_ptr const& at);
  void send_look(subscription_ptr const& at);

  maker const make_;
  report_wires wires_;  // empty until it is made
  std::vector<subscription_ptr> subscriptions_;
};

}  // namespace herdlock::redis
