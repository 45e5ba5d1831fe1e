// Who tells where the server is, when the URL itself does not.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <herdlock/url.hpp>
#include "stores/redis/client/transport.hpp"

namespace herdlock::redis {

/// Asked before each connection attempt. All members on the executor.
class address_resolver {
 public:
  using answer = std::function<void(result<stores::server_address>, failure_kind)>;
  virtual ~address_resolver() = default;

  /// Answers once, later, unless what it returns is let go before: that gives the query up. The
  /// query ends by itself, within a command's timeout or so.
  virtual std::shared_ptr<void> where(answer done) = 0;

  /// Tells where the server is as soon as that may have changed, until what it returns is let go.
  /// The same address may be told again. A move that could not be heard of is told later.
  using news = std::function<void(stores::server_address const&)>;
  virtual std::shared_ptr<void> watch(news moved) = 0;

  /// Nobody is there, or not what was sought. Returns who had named that address, for the failure's
  /// message.
  virtual std::string was_wrong(stores::server_address const&) { return {}; }
};

}  // namespace herdlock::redis
