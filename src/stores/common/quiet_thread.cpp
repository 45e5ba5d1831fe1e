#include "stores/common/quiet_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

#include "types/thread_name.hpp"

namespace herdlock::stores {
namespace {

// A thread begins with the mask of the one that makes it, which gets its own back in any case.
class without_signals {
 public:
  without_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  without_signals(without_signals const&) = delete;
  without_signals& operator=(without_signals const&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::thread start_quiet_thread(char const* name, std::function<void()> body) {
  without_signals const here;
  return std::thread([name, body = std::move(body)] {
    detail::name_this_thread(name);
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

}  // namespace herdlock::stores
