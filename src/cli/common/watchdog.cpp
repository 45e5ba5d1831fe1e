#include "common/watchdog.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "common/exit_code.hpp"

namespace herdlock::cli {
namespace {

// How long the deadline may have moved before it is looked at again, and how soon a group is seen
// that was named after the deadline.
constexpr milliseconds longest_nap{60'000};
constexpr milliseconds shortest_nap{50};

[[noreturn]] void fail(char const* what) {
  throw command_error(exit_code::internal, std::string(what) + ": " + std::strerror(errno));
}

int nap_until(clock::time_point deadline) noexcept {
  auto const left = std::chrono::ceil<milliseconds>(deadline - clock::now());
  return static_cast<int>(left > milliseconds{0} ? std::min(left, longest_nap).count()
                                                 : shortest_nap.count());
}

}  // namespace

// Only async-signal-safe calls: it is the child of a process with threads.
void watchdog::guard(page& shared, int pipe) noexcept {
  ::setsid();  // out of reach of Ctrl-C, Ctrl-Z and `kill -STOP %1`
  ::prctl(PR_SET_NAME, "herdlock-watch");
  ::dup2(pipe, 0);
  // Whoever reads what herdlock prints must not wait for this process, too.
  ::syscall(SYS_close_range, 1U, ~0U, 0U);
  while (true) {
    auto const deadline = clock::time_point(clock::duration(shared.deadline.load()));
    pid_t group = shared.group.load();
    if (group > 0 && clock::now() >= deadline) {
      ::kill(-group, SIGKILL);
      shared.group.compare_exchange_strong(group, 0);
    }
    pollfd parent{0, POLLIN, 0};
    int const ready = ::poll(&parent, 1, nap_until(deadline));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (pid_t const left = shared.group.load(); left > 0) ::kill(-left, SIGKILL);
    ::_exit(0);
  }
}

watchdog::watchdog(clock::time_point deadline) {
  void* const memory =
      ::mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("cannot share memory with a process");
  shared_ = new (memory) page{deadline.time_since_epoch().count(), 0};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ::munmap(shared_, sizeof(page));
    fail("cannot make a pipe");
  }
  unique_fd const reading(ends[0]);
  alive_ = unique_fd(ends[1]);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // for good in the child
  id_ = ::fork();
  if (id_ == 0) guard(*shared_, reading.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (id_ > 0) return;
  ::munmap(shared_, sizeof(page));
  fail("cannot start a process");
}

watchdog::~watchdog() {
  stand_down();
  // Unless it was reaped with the command's children, the number is its own.
  siginfo_t about{};
  if (::waitid(P_PID, static_cast<id_t>(id_), &about, WEXITED | WNOHANG | WNOWAIT) == 0) {
    ::kill(id_, SIGKILL);
    while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::munmap(shared_, sizeof(page));
}

void watchdog::watch(pid_t group) noexcept { shared_->group.store(group); }

void watchdog::allow_until(clock::time_point deadline) noexcept {
  shared_->deadline.store(deadline.time_since_epoch().count());
}

}  // namespace herdlock::cli
