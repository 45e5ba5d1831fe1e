#include "types/quiet_thread.hpp"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "types/thread_name.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

signal_mask signal_mask::of_this_thread() {
  signal_mask now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now.set_);
  return now;
}

void signal_mask::take_on() const { pthread_sigmask(SIG_SETMASK, &set_, nullptr); }

signals_blocked::signals_blocked() : before_(signal_mask::of_this_thread()) {
  sigset_t all;
  sigfillset(&all);
  for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&all, fault);
  }
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

std::thread start_quiet_thread(char const* name, std::function<void()> body) {
  signals_blocked const here;
  return std::thread([name, body = std::move(body)] {
    name_this_thread(name);
    body();
  });
}

bool start_loose_thread(char const* name, std::function<void()> body) {
  try {
    start_quiet_thread(name, std::move(body)).detach();
    return true;
  } catch (std::system_error const&) {
    return false;
  }
}

std::thread start_users_thread(char const* name, signal_mask const& signals,
                               std::function<void()> body) {
  return start_quiet_thread(name, [signals, body = std::move(body)] {
    signals.take_on();
    body();
  });
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
