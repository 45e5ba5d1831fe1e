// Two connections of a store that have to lead to one server.
#pragma once

#include <memory>
#include <vector>

#include "stores/common/present_server.hpp"
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// A name can lead new connections to another server while the old ones stay where they are (a
/// proxy, a service address, a DNS name behind a failover). Whoever stays at the old server holds
/// and waits beside those at the new one, and a command is not heard by the other connection's
/// server. So when this connection comes up elsewhere than the other one leads, the other, which is
/// the older, is given up: it connects again, to where the name leads by now.
///
/// To be attached to `mine`. Without an examination, or where INFO is not permitted, nothing is
/// known and nothing is given up. A name that leads to several servers in turn is warned of.
class same_server final : public connection_listener {
 public:
  /// `moves` is the one of both connections.
  same_server(std::weak_ptr<connection> mine, std::weak_ptr<connection> other,
              std::shared_ptr<stores::to_and_fro> moves, std::shared_ptr<store_warnings> warnings)
      : mine_(std::move(mine)),
        other_(std::move(other)),
        moves_(std::move(moves)),
        warnings_(std::move(warnings)) {}

 private:
  void on_connection_up() override;

  std::weak_ptr<connection> const mine_;
  std::weak_ptr<connection> const other_;
  std::shared_ptr<stores::to_and_fro> const moves_;
  std::shared_ptr<store_warnings> const warnings_;
};

/// Both ways, and attached. They last as long as what is returned.
std::vector<std::shared_ptr<connection_listener>> ties_of(
    std::shared_ptr<connection> const& one, std::shared_ptr<connection> const& other,
    std::shared_ptr<store_warnings> const& warnings);

}  // namespace herdlock::redis
