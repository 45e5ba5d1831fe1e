#include "stage/wire.hpp"

#include <sys/resource.h>

#include <support/relay.hpp>
#include <utility>

namespace herdlock::lab {

wire::wire(stage& on, std::string const& address, std::uint16_t port, std::function<bool()> goes_on)
    : on_(on) {
  on.processes().start("the relay", [this, address, port, goes_on = std::move(goes_on)] {
    work(address, port, goes_on);
  });
  on.await("the relay took no connections", [this] { return controls_->port != 0; });
}

void wire::work(std::string const& address, std::uint16_t port,
                std::function<bool()> const& goes_on) {
  // A client that connects again and again leaves its old connections until bytes pass.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  herdlock_test::relay relay(address, port);
  controls_->port = relay.port();
  while (goes_on()) {
    bool const still = steady_ns() < controls_->still_until_ns;
    if (still && !controls_->is_still) relay.stop_forwarding();
    if (!still && controls_->is_still) relay.resume_forwarding();
    controls_->is_still = still;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void wire::freeze(std::int64_t until_ns) {
  controls_->still_until_ns = until_ns;
  on_.await("the relay did not stop",
            [&] { return controls_->is_still || steady_ns() >= until_ns; });
}

void wire::thaw() {
  controls_->still_until_ns = 0;
  await_thaw();
}

void wire::await_thaw() {
  on_.await("the relay did not go on",
            [&] { return !controls_->is_still && steady_ns() >= controls_->still_until_ns; });
}

}  // namespace herdlock::lab
