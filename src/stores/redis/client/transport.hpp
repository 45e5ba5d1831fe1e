// One connection from its first resolve to its end; the supervisor makes a new one each time.
// Why: docs/stores/redis.md#a-connection-of-our-own
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <herdlock/detail/async.hpp>
#include "stores/redis/client/command.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// Whether the same settings may work a little later (`refused`: the server said no to them).
enum class failure_kind { temporary, refused };

class transport;

/// Hears from its transport on the executor, never from inside a call to it. Replies and pushes
/// come in the order in which the server sent them. When one of these calls throws the rest comes
/// all the same.
class transport_listener {
 public:
  virtual ~transport_listener() = default;
  /// Connected, authenticated, database selected: commands may be sent.
  virtual void on_ready(transport& from) = 0;
  /// The connection could not be made, or ended. Once; not after stop().
  virtual void on_ended(transport& from, failure why, failure_kind kind) = 0;
  /// The next reply of a batch is there. False: it is enough for this turn of the event loop, and
  /// the next ones come with another. When it throws, it is called again for this reply.
  virtual bool on_reply(transport&, batch&, std::size_t) { return true; }
  /// At the end of each turn in which something was told or written: may_send() may be true again.
  virtual void on_turn(transport&) {}
  /// A batch came back: with all its replies, or, when `why` says so, with those that were told.
  virtual void on_batch(transport& from, batch_ptr done, failure const* why) = 0;
  virtual void on_push(transport&, reply const&) {}
};

class transport {
 public:
  virtual ~transport() = default;

  static std::shared_ptr<transport> start(asio::any_io_executor const& executor,
                                          settings const& how,
                                          std::weak_ptr<transport_listener> owner);

  /// After on_ready and before the end. Everything that was encoded into the batch is written.
  virtual void send(batch_ptr what) = 0;
  /// False while enough waits to be written: whatever is kept back can still be withdrawn.
  virtual bool may_send() const = 0;
  /// SUBSCRIBE or UNSUBSCRIBE; the answer comes as a push.
  virtual void subscription(std::string_view verb, std::string_view channel) = 0;
  /// Ends the connection; batches still come back (as failed), nothing else does.
  virtual void stop() = 0;
  /// For a server that hangs: what the kernel has not delivered when the connection ends is thrown
  /// away then. Else the server would execute it after its callers were told of the failure.
  virtual void forget_unsent() = 0;
  /// How often something was read: the same number at two times means silence between them.
  virtual std::uint64_t reads() const = 0;
};

}  // namespace herdlock::redis
