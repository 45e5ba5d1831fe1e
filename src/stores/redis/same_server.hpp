// Two connections of a store that have to lead to one server.
#pragma once

#include <memory>

#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// A name can lead new connections to another server while the old ones stay where they are (a
/// proxy, a service address, a DNS name behind a failover). Whoever stays at the old server holds
/// and waits beside those at the new one, and a command is not heard by the other connection's
/// server. So when this connection comes up elsewhere than the other one leads, the other, which is
/// the older, is given up: it connects again, to where the name leads by now.
///
/// To be attached to `mine`. Without an examination, or where INFO is not permitted, nothing is
/// known and nothing is given up.
class same_server final : public connection_listener {
 public:
  same_server(std::weak_ptr<connection> mine, std::weak_ptr<connection> other)
      : mine_(std::move(mine)), other_(std::move(other)) {}

 private:
  void on_connection_up() override;

  std::weak_ptr<connection> const mine_;
  std::weak_ptr<connection> const other_;
};

}  // namespace herdlock::redis
