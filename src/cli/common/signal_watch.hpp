// Signals as whoever started us left them, blocked and forgotten, or ignored on purpose; and those
// that a command is sent, as events of its loop.
#pragma once

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace herdlock::cli {

/// What whoever has a command handles, beside its ends.
inline constexpr std::initializer_list<int> work_signals{SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                                         SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

/// As this process was started. Ask before anything is changed, on the main thread.
inline sigset_t const& inherited_signal_mask() {
  static sigset_t const inherited = [] {
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return now;
  }();
  return inherited;
}

/// What a guard and those who use one handle. Call when there are handlers: what was sent meanwhile
/// comes at once.
inline void open_signals() {
  inherited_signal_mask();
  sigset_t handled;
  sigemptyset(&handled);
  sigaddset(&handled, SIGCHLD);
  for (int const number : work_signals) sigaddset(&handled, number);
  ::pthread_sigmask(SIG_UNBLOCK, &handled, nullptr);
}

/// True for a signal that our parent has set to be ignored, as nohup and `&` of a script do. Ask
/// before it has a handler.
inline bool ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

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

/// Runs the loop until `done` holds, also when a handler stops it.
template <class Condition>
void run_until(boost::asio::io_context& io, Condition done) {
  while (!done()) {
    io.restart();
    io.run();
  }
}

}  // namespace herdlock::cli
