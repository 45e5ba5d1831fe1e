// A TCP relay on loopback that delays, stops, cuts and refuses.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace herdlock_test {

enum class direction { to_server, to_client };

/// Runs in a thread of its own between port() and the target, which is on loopback where no address
/// is given. The controls may be called from any thread and have taken effect when they return.
class relay {
 public:
  explicit relay(std::uint16_t target_port) : relay("127.0.0.1", target_port) {}
  relay(std::string const& target_address, std::uint16_t target_port);
  ~relay();

  std::uint16_t port() const;
  std::size_t connections() const;         ///< open now
  std::size_t connections_ever() const;    ///< accepted since the start
  std::size_t bytes(direction way) const;  ///< forwarded since the start

  void cut_all();            ///< closes every connection; new ones are taken
  void stop_forwarding();    ///< black hole: connections stay, nothing passes
  void resume_forwarding();  ///< what was held passes now
  void refuse();             ///< cuts all; new connections are refused by the kernel
  void accept();             ///< takes connections again, on the same port
  /// A black hole once exactly `bytes` more have passed in this direction.
  void stop_after_bytes(direction way, std::size_t bytes);
  /// New connections lead to another server; those that are open stay where they are.
  void lead_to(std::uint16_t target_port);
  void set_delay(std::chrono::milliseconds each_way);

  /// Lets exactly `bytes` more pass in this direction (0: none), then ends the connection that
  /// would send the next byte: the receiver gets what passed and an end of file, the other side is
  /// closed. Armed once; a later call replaces it.
  void cut_after_bytes(direction way, std::size_t bytes);
  bool cut_pending() const;  ///< armed and not yet happened
  void disarm();

  /// In what a server says, of the same length; only where a read brings all of it.
  void replace_in_replies(std::string what, std::string with);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace herdlock_test
