// Asks a server from outside of an event loop: connects, asks, goes. Blocks, with an event loop of
// its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stores/redis/client/command.hpp"
#include "stores/redis/client/reply.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

using command_words = std::vector<std::string>;

enum class wait_end { in_time, lost };

/// One connection for several questions, one after the other. Connects with the first one, goes in
/// the destructor. After a failure it has no connection any more, and gives the same failure.
class asking_client {
 public:
  explicit asking_client(settings const& how);
  ~asking_client();
  asking_client(asking_client const&) = delete;
  asking_client& operator=(asking_client const&) = delete;

  /// As many replies as commands, which may be errors; a failure when the server cannot be reached,
  /// or does not answer in twice the command timeout.
  result<std::vector<reply>> ask(std::vector<command_words> const& commands);
  /// The same in two steps, so that more is under way: a next() for each send(), in their order.
  /// For those who ask much, without a copy of each word: redis::ask(batch, words).
  void send(batch_ptr asked);
  result<std::vector<reply>> next();
  /// Returns then, or as soon as the connection is lost, which the next question is told.
  wait_end wait_until(clock::time_point then);

  settings const& how() const noexcept { return how_; }

 private:
  class session;
  session& connected();

  settings how_;
  std::unique_ptr<session> session_;
};

/// A single question to a server.
result<std::vector<reply>> ask_once(settings const& how,
                                    std::vector<command_words> const& commands);

}  // namespace herdlock::redis
