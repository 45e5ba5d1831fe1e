// The signals that a command is sent, as events of its loop.
#pragma once

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <initializer_list>
#include <utility>

#include "common/signals.hpp"

namespace herdlock::cli {

class signal_watch {
 public:
  /// Calls `take` for each of these, again and again, while the loop runs. What whoever started us
  /// ignores (nohup, `&` of a script) stays so; but who has stopped us must be heard with SIGCONT.
  signal_watch(boost::asio::io_context& io, std::initializer_list<int> numbers,
               std::function<void(int)> take)
      : signals_(io), take_(std::move(take)) {
    for (int const number : numbers) {
      if (number == SIGCONT || !ignored(number)) signals_.add(number);
    }
    await();
  }

  void close() { signals_.cancel(); }

 private:
  void await() {
    signals_.async_wait([this](boost::system::error_code code, int number) {
      if (code) return;
      await();
      take_(number);
    });
  }

  boost::asio::signal_set signals_;
  std::function<void(int)> const take_;
};

/// Until `done`, also when what runs stops the loop.
template <class Condition>
void run_until(boost::asio::io_context& io, Condition done) {
  while (!done()) {
    io.restart();
    io.run();
  }
}

}  // namespace herdlock::cli
