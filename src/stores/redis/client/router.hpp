// Where a command goes: one server (a connection), or the node of a cluster that serves its key.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <herdlock/detail/async.hpp>
#include <herdlock/types.hpp>
#include "stores/redis/client/command.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

class connection;

/// Told when the way of commands changes: a cluster's map.
class route_listener {
 public:
  virtual ~route_listener() = default;
  virtual void on_routes_changed() = 0;
  /// No command goes there any more.
  virtual void on_connection_left(connection const& which) = 0;
};

/// What the ports see of the server side. All members on the executor.
class router {
 public:
  virtual ~router() = default;

  /// Takes the command and completes it exactly once, within the timeout, never inside the call.
  virtual void submit(command_ptr what) = 0;
  /// Completes an open command with errc::canceled; not sent if it was not.
  virtual void cancel(command& what) = 0;

  virtual settings const& how() const = 0;
  virtual asio::any_io_executor const& executor() const = 0;
  virtual std::weak_ptr<router> weak_router() = 0;

  /// Which connection a command for this key would take now, as far as is known; or null.
  virtual connection* carrier_for(std::string_view key) = 0;
  virtual void watch_routes(std::weak_ptr<route_listener>) {}

  /// The servers that have all keys between them; none while that is not known. In a fixed order.
  virtual std::vector<std::shared_ptr<connection>> servers() = 0;

  /// errc::invalid_name for a key that this set-up cannot keep together with its side keys.
  virtual failure check_key(std::string_view) const { return {}; }

  /// What a fencing counter must have reached at this server; a smaller one is seeded anew.
  virtual std::int64_t fence_floor() const { return 1; }

  /// False when no command has ever been sent to a server, which is certain.
  virtual bool may_have_sent() const { return true; }

  /// A connection of its own for events, not opened yet. After each loss it looks anew for a
  /// server to connect to.
  virtual std::shared_ptr<connection> make_event_connection() = 0;
  /// An event may come later than a look that was made after it, or never: then who waits for
  /// events looks by himself after longest_silence(), and a value is read anew before it is given.
  virtual bool events_may_be_late() const { return false; }
  virtual milliseconds longest_silence() const { return milliseconds{std::chrono::hours{24}}; }
};

}  // namespace herdlock::redis
