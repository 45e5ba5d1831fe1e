// The one connection of a store on which the server speaks first: events of cache entries and
// grants to waiters.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// All members on the executor. Opened when somebody first wants it, then kept open.
class subscription_connection final : public connection_listener,
                                      public std::enable_shared_from_this<subscription_connection> {
 public:
  explicit subscription_connection(std::shared_ptr<connection> line) : line_(std::move(line)) {}

  /// At most max_listeners, before open(); each hears everything and picks what it knows.
  void attach(std::weak_ptr<connection_listener> listener);
  /// Connects, if it does not yet. When it is up already the caller sees that by up().
  void open();
  void close() { line_->close(); }

  /// Gives the connection up for a new one.
  void leave(failure const& why) { line_->leave(why); }

  bool up() const { return line_->up(); }
  /// For listeners: between on_connection_up and on_connection_down.
  void subscription(std::string_view verb, std::string_view channel) {
    line_->subscription(verb, channel);
  }

 private:
  static constexpr std::size_t max_listeners = 2;

  void on_connection_up() override;
  void on_connection_down() override;
  void on_message(reply const& message) override;

  std::shared_ptr<connection> line_;
  std::array<std::weak_ptr<connection_listener>, max_listeners> listeners_;
  std::size_t attached_ = 0;
  bool opened_ = false;
};

}  // namespace herdlock::redis
