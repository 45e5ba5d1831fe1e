// Reports between the processes that share a server: a hash for each window, and a channel.
//
// What is told has a number that grows by one, so whoever misses one sees that by the next, and
// asks for all that are kept: once a second at most, since each process reports anew in that time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/report_store.hpp>
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// All members on the executor. To be attached to `events` by the maker.
class report_exchange final : public report_store,
                              public connection_listener,
                              public std::enable_shared_from_this<report_exchange> {
 public:
  /// `events` has the pushes; opened by the first who listens.
  report_exchange(std::shared_ptr<router> commands, std::shared_ptr<connection> events)
      : commands_(std::move(commands)), events_(std::move(events)) {}

  void report(store_report what, handler<void> done) override;
  void listen(std::string topic, std::weak_ptr<report_listener> to) override;

  struct kept_reports {
    std::uint64_t told = 0;  ///< so far
    std::vector<std::string> texts;
  };

 private:
  static constexpr milliseconds least_between_looks{1000};

  struct subscription {
    std::string topic;
    std::string channel;
    std::weak_ptr<report_listener> to;
    std::optional<std::uint64_t> heard{};  // the number that was heard last
    bool missed = true;                    // something, perhaps, since the last look
    std::optional<clock::time_point> looked{};
  };
  using subscription_ptr = std::shared_ptr<subscription>;

  void on_connection_up() override;
  void on_connection_down() override;
  void on_message(reply const& message) override;

  std::string channel_of(std::string_view topic) const;
  void subscribe(subscription const& one) { events_->subscription("SUBSCRIBE", one.channel); }
  void on_event(subscription& at, std::string_view event);
  void look(subscription_ptr const& at);

  std::shared_ptr<router> commands_;
  std::shared_ptr<connection> events_;
  std::vector<subscription_ptr> subscriptions_;
};

}  // namespace herdlock::redis
