// Rules for the processes that share a server: a hash that does not end, and a channel.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/rules_store.hpp>
#include "algo/look_schedule.hpp"
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// All members on the executor. To be attached to `events` by the maker.
class rules_exchange final : public rules_store,
                             public connection_listener,
                             public std::enable_shared_from_this<rules_exchange> {
 public:
  /// `events` has the pushes; opened by the first who listens.
  rules_exchange(std::shared_ptr<router> commands, std::shared_ptr<connection> events)
      : commands_(std::move(commands)), events_(std::move(events)) {}

  void read_rules(std::string topic, handler<store_rules> done) override;
  void write_rules(rules_change what, handler<std::uint64_t> done) override;
  void listen_for_rules(std::string topic, std::weak_ptr<rules_listener> to) override;
  /// By PUBSUB NUMSUB; of a cluster the sum over its nodes.
  void count_listeners(std::string topic, handler<listener_count> done) override;
  void prolong(prolong_request what, handler<bool> done) override;
  void close() { subscriptions_.clear(); }

 private:
  struct subscription {
    std::string topic;
    std::string channel;
    std::weak_ptr<rules_listener> to;
    asio::steady_timer timer;  // until the next look
    algo::look_schedule looks{milliseconds{0}};
  };
  using subscription_ptr = std::shared_ptr<subscription>;

  void on_connection_up() override;
  void on_connection_down() override;
  void on_message(reply const& message) override;

  std::string channel_of(std::string_view topic) const;
  void schedule(subscription_ptr const& at);
  void look(subscription_ptr const& at);
  void tell(std::string_view channel, store_rules const& now);

  std::shared_ptr<router> commands_;
  std::shared_ptr<connection> events_;
  std::vector<subscription_ptr> subscriptions_;
};

}  // namespace herdlock::redis
