// The way to a server, whose connections can stand still: the sockets stay open, and nothing comes
// any more, as when a network cable is pulled.
#pragma once

#include <sys/resource.h>

#include <limits>
#include <support/relay.hpp>

#include "stage/stage.hpp"

namespace herdlock::lab {

/// A relay in a process of its own: nothing that the scene does holds its bytes up, and the scene's
/// process has no thread for it.
class wire {
 public:
  static constexpr std::int64_t thawed = std::numeric_limits<std::int64_t>::max();

  /// Returns when it takes connections. Its process ends when `goes_on` holds no more.
  wire(stage& on, std::string const& address, std::uint16_t port, std::function<bool()> goes_on)
      : on_(on) {
    on.processes().start("the relay", [this, address, port, goes_on = std::move(goes_on)] {
      // A client that connects again and again leaves its old connections until bytes pass.
      rlimit files{};
      if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
      }
      herdlock_test::relay relay(address, port);
      for (controls_->port = relay.port(); goes_on(); nap()) {
        bool const still = steady_ns() < controls_->still_until_ns;
        if (still && !controls_->is_still) relay.stop_forwarding();
        if (!still && controls_->is_still) relay.resume_forwarding();
        controls_->is_still = still;
      }
    });
    on.await("the relay took no connections", [this] { return controls_->port != 0; });
  }

  /// Of 127.0.0.1.
  std::uint16_t port() const { return controls_->port; }

  /// Nothing passes from now on until that time of the steady clock, or until thaw().
  void freeze(std::int64_t until_ns = thawed) {
    controls_->still_until_ns = until_ns;
    on_.await("the relay did not stop",
              [&] { return controls_->is_still || steady_ns() >= until_ns; });
  }
  /// What was held passes now.
  void thaw() {
    controls_->still_until_ns = 0;
    await_thaw();
  }
  /// Returns when the time of freeze() is over.
  void await_thaw() {
    on_.await("the relay did not go on",
              [&] { return !controls_->is_still && steady_ns() >= controls_->still_until_ns; });
  }

 private:
  struct controls {
    std::atomic<std::uint16_t> port{0};
    std::atomic<std::int64_t> still_until_ns{0};
    std::atomic<bool> is_still{false};
  };

  stage& on_;
  shared<controls> controls_;
};

}  // namespace herdlock::lab
