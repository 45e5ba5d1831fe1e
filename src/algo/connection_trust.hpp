// How long a connection is trusted: nothing is missed of what a server pushes over it.
//
//   client            server
//     │ PING, at P ──────▶│
//     │◀───── pushes ─────│  of all writes that were executed before the PING
//     │◀───── PONG ───────│  proves those pushes, and nothing of what came after P
//
// So an answered PING is worth P + max_staleness, however late the answer comes, and not before the
// pushes in front of it on the wire have been handled. A connection that hangs runs out by itself.
//
// Pure: the time is an argument.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include <herdlock/types.hpp>

namespace herdlock::algo {

class connection_trust {
 public:
  /// The number of unanswered PINGs at which the clock sends no more; at twice as many none is
  /// sent.
  static constexpr std::size_t most_regular_pings = 4;
  static constexpr std::size_t most_pings = 2 * most_regular_pings;
  /// The pause between a refused PING and the next one.
  static constexpr milliseconds pause_of_refusal{50};

  /// `asked`: when the command was sent that made the server push, which it has confirmed.
  connection_trust(clock::time_point asked, clock::duration max_staleness)
      : max_staleness_(max_staleness), until_(asked + max_staleness), last_sent_(asked) {}

  bool may_ping() const noexcept { return pings_.size() < most_pings; }
  /// A PING is to be sent after `now`; its number, from 1 on. REQUIRES: may_ping().
  std::uint64_t ping(clock::time_point now);
  /// When the next PING is due, a third of max_staleness after the last one.
  clock::time_point next_ping() const noexcept {
    auto const regular = last_sent_ + max_staleness_ / 3;
    return soon_ ? std::min(*soon_, regular) : regular;
  }
  /// A PING is due, but so many are on their way that it would prove nothing in time.
  bool enough_pings() const noexcept { return pings_.size() >= most_regular_pings; }
  void skip_ping(clock::time_point now) {
    last_sent_ = now;
    soon_.reset();
  }

  /// The PING of that number was answered, behind so many pushes of this connection: it is believed
  /// when as many have been handled. Unknown numbers change nothing. True: one is believed now.
  bool pong(std::uint64_t number, std::uint64_t pushes_before);
  /// One more push has been handled. True: a PONG behind it is believed now.
  bool push_handled();

  /// The server refused the PING of that number, or nobody waits for its answer any more. Nothing
  /// is known of the connection then, until a later one is answered, and all is read from the
  /// server. So the next PING is due soon, if the last one before this was answered.
  void refused(std::uint64_t number, clock::time_point now);

  /// The time until which values that were read over this connection may be served.
  clock::time_point until() const noexcept { return until_; }
  /// The number of the last PING whose answer is believed.
  std::uint64_t believed() const noexcept { return believed_; }

 private:
  struct sent_ping {
    std::uint64_t number;
    clock::time_point sent;
    std::optional<std::uint64_t> pushes_before = std::nullopt;  // with the answer
  };

  bool believe();

  clock::duration max_staleness_;
  clock::time_point until_;
  clock::time_point last_sent_;
  std::deque<sent_ping> pings_;            // not believed yet, in the order of the wire
  std::optional<clock::time_point> soon_;  // a PING is due, sooner than by the clock
  bool refused_last_ = false;              // and none was answered since then
  std::uint64_t last_number_ = 0;
  std::uint64_t believed_ = 0;
  std::uint64_t pushes_handled_ = 0;
};

}  // namespace herdlock::algo
