// The way to a server, whose connections can stand still: the sockets stay open, and nothing comes
// any more, as when a network cable is pulled.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "stage/stage.hpp"

namespace herdlock::lab {

/// A relay in a process of its own: nothing that the scene does holds its bytes up, and the scene's
/// process has no thread for it.
class wire {
 public:
  static constexpr std::int64_t thawed = std::numeric_limits<std::int64_t>::max();

  /// Returns when it takes connections. Its process ends when `goes_on` holds no more.
  wire(stage& on, std::string const& address, std::uint16_t port, std::function<bool()> goes_on);

  /// Of 127.0.0.1.
  std::uint16_t port() const { return controls_->port; }

  /// Nothing passes from now on until that time of the steady clock, or until thaw().
  void freeze(std::int64_t until_ns = thawed);
  /// What was held passes now.
  void thaw();
  /// Returns when the time of freeze() is over.
  void await_thaw();

 private:
  struct controls {
    std::atomic<std::uint16_t> port{0};
    std::atomic<std::int64_t> still_until_ns{0};
    std::atomic<bool> is_still{false};
  };

  void work(std::string const& address, std::uint16_t port, std::function<bool()> const& goes_on);

  stage& on_;
  shared<controls> controls_;
};

}  // namespace herdlock::lab
