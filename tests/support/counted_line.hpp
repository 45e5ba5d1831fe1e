// A TCP line with a latency, on loopback, that counts the round trips of its client.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace herdlock_test {

/// A round trip is: the client says something after it has been told something since it last spoke.
/// What it writes in one go is one trip, in however many pieces it comes; the latency lets it
/// finish before the first answer is there, and bytes that are under way do not hold up those
/// behind them. A client that the machine stops for longer than two latencies is counted more
/// often, never less.
///
/// Runs in a thread of its own between port() and the target; any thread may ask for the figures.
class counted_line {
 public:
  counted_line(std::uint16_t target_port, std::chrono::milliseconds each_way);
  ~counted_line();

  std::uint16_t port() const;
  std::size_t trips() const;  ///< of all connections together, each counted by itself
  std::size_t reads() const;  ///< pieces in which the clients' bytes came

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace herdlock_test
