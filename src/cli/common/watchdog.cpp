#include "common/watchdog.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
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
// Between two looks at what was killed: some take their time, in the kernel or as another user.
constexpr int longest_pause_ms = 200;

[[noreturn]] void fail(char const* what) {
  throw command_error(exit_code::internal, std::string(what) + ": " + std::strerror(errno));
}

// On the clock of leases, which counts while the machine is suspended.
void set_alarm(int alarm, clock::time_point at) noexcept {
  auto const since = at.time_since_epoch();
  auto const whole = std::chrono::duration_cast<std::chrono::seconds>(since);
  itimerspec spec{};
  spec.it_value = {whole.count(), std::max<long>((since - whole).count(), 1)};
  ::timerfd_settime(alarm, TFD_TIMER_ABSTIME, &spec, nullptr);
}

// Waits for the end of the pipe, at most until the deadline; -1 as an alarm is none.
bool pipe_ends_before(clock::time_point deadline, int pipe, int alarm) noexcept {
  auto const now = clock::now();
  auto const until = deadline > now ? std::min(deadline, now + longest_nap) : now + shortest_nap;
  if (alarm >= 0) set_alarm(alarm, until);
  pollfd both[] = {{pipe, POLLIN, 0}, {alarm, POLLIN, 0}};
  auto const limit = std::chrono::ceil<milliseconds>(until - now).count();
  int const found = ::poll(both, 2, static_cast<int>(limit));
  return found > 0 && both[0].revents != 0;
}

}  // namespace

// A process whose parent dies while its list is read may be missed, and may have a new child: until
// none is seen twice.
void watchdog::end_work(page& shared, pid_t parent) noexcept {
  if (!shared.armed.exchange(false)) return;
  pid_t const group = shared.group.load();
  if (group > 0) ::kill(-group, SIGKILL);
  work_signs const signs{.ancestor = parent,
                         .group = group,
                         .mark = shared.mark.data(),
                         .spared = shared.strangers.data()};
  auto const give_up = clock::now() + longest_nap;
  int pause_ms = 1;
  for (int clean = 0; clean < 2 && clock::now() < give_up;) {
    clean = signal_work(signs, SIGKILL) == 0 ? clean + 1 : 0;
    ::poll(nullptr, 0, pause_ms);
    pause_ms = std::min(2 * pause_ms, longest_pause_ms);
  }
}

// Only async-signal-safe calls: it is the child of a process with threads.
void watchdog::guard(page& shared, int pipe, pid_t parent) noexcept {
  ::setsid();  // out of reach of Ctrl-C, Ctrl-Z and `kill -STOP %1`
  ::prctl(PR_SET_NAME, "herdlock-watch");
  ::dup2(pipe, 0);
  // Whoever reads what herdlock prints must not wait for this process, too.
  close_from(1);
  int const alarm = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
  while (true) {
    auto const deadline = clock::time_point(clock::duration(shared.deadline.load()));
    if (clock::now() >= deadline) end_work(shared, parent);
    if (!pipe_ends_before(deadline, 0, alarm)) continue;
    end_work(shared, parent);
    ::_exit(0);
  }
}

watchdog::watchdog(clock::time_point deadline, std::string const& mark) {
  void* const memory =
      ::mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("cannot share memory with a process");
  shared_ = new (memory) page{deadline.time_since_epoch().count(), 0, false, {}, {}};
  std::copy_n(mark.data(), std::min(mark.size(), shared_->mark.size() - 1), shared_->mark.data());
  // Its own number is the first; see not_the_command().
  list_children(shared_->strangers.data() + 1, max_strangers);
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
  pid_t const self = ::getpid();
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // for good in the child
  // fork(), but for the signal at its end: none.
  id_ = static_cast<pid_t>(::syscall(SYS_clone, 0, 0, 0, 0, 0));
  if (id_ == 0) guard(*shared_, reading.get(), self);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  shared_->strangers[0] = id_;
  if (id_ > 0) return;
  ::munmap(shared_, sizeof(page));
  fail("cannot start a process");
}

watchdog::~watchdog() {
  stand_down();
  // Not reaped by anybody else, so the number is its own.
  ::kill(id_, SIGKILL);
  while (::waitpid(id_, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  ::munmap(shared_, sizeof(page));
}

void watchdog::watch(pid_t group) noexcept {
  shared_->group.store(group);
  shared_->armed.store(true);
}

void watchdog::stand_down() noexcept {
  shared_->armed.store(false);
  shared_->group.store(0);
}

void watchdog::allow_until(clock::time_point deadline) noexcept {
  shared_->deadline.store(deadline.time_since_epoch().count());
}

}  // namespace herdlock::cli
