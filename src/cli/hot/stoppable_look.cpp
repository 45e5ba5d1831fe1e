#include "hot/stoppable_look.hpp"

#include <signal.h>

#include "common/ignored_signal.hpp"

namespace herdlock::cli {
namespace {

// Thrown through survey_store().
struct stop_is_wanted {};

// It comes when this goes.
class sigtstp_held_back {
 public:
  sigtstp_held_back() noexcept {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGTSTP);
    ::pthread_sigmask(SIG_BLOCK, &one, &before_);
  }
  ~sigtstp_held_back() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  sigtstp_held_back(sigtstp_held_back const&) = delete;
  sigtstp_held_back& operator=(sigtstp_held_back const&) = delete;

  /// Never, when who started us had blocked it, or has it ignored.
  bool came() const noexcept {
    if (ignored(SIGTSTP)) return false;
    sigset_t waiting;
    ::sigpending(&waiting);
    return sigismember(&waiting, SIGTSTP) == 1 && sigismember(&before_, SIGTSTP) == 0;
  }

 private:
  sigset_t before_;
};

}  // namespace

result<survey> stoppable_look(hot_question const& asked) {
  // A server keeps for a stopped process what MONITOR tells, without a bound. The others only
  // answer what they are asked.
  if (asked.request.source != survey_source::monitor) return survey_store(asked.url, asked.request);
  for (;;) {
    try {
      sigtstp_held_back const held_back;
      survey_request request = asked.request;
      request.on_progress = [&](double done) {
        if (held_back.came()) throw stop_is_wanted();
        if (asked.request.on_progress) asked.request.on_progress(done);
      };
      return survey_store(asked.url, request);
    } catch (stop_is_wanted const&) {
      // and it goes on from here
    }
  }
}

}  // namespace herdlock::cli
