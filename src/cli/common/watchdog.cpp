#include "common/watchdog.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "common/boot_alarm.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/signals_blocked.hpp"

namespace herdlock::cli {
namespace {

// How long the deadline may have moved before it is looked at again, and how soon a group is seen
// that was named after the deadline.
constexpr milliseconds longest_nap{60'000};
constexpr milliseconds shortest_nap{50};
// For so long those who sleep in the kernel wait for the others to have ended.
constexpr milliseconds patience_with_sleepers{1000};
// Between two looks at what was killed: some take their time, in the kernel or as another user.
constexpr int longest_pause_ms = 200;

constexpr int of_a_parents_end = SIGUSR1;

// A descriptor that tells of the parent's end; all signals are blocked here. -1: none to be had.
int await_end_of_parent() noexcept {
  ::prctl(PR_SET_PDEATHSIG, of_a_parents_end);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, of_a_parents_end);
  return ::signalfd(-1, &only, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Anybody may send the signal; it counts when it is the parent's.
bool is_of(pid_t parent, int signals) noexcept {
  signalfd_siginfo one{};
  while (::read(signals, &one, sizeof one) == sizeof one) {
    if (one.ssi_pid == static_cast<std::uint32_t>(parent)) return true;
  }
  return false;
}

}  // namespace

// Descriptors; -1: there is none.
struct watchdog::signs_of_life {
  pid_t parent;
  int pipe;
  int signals;
  int alarm;

  // Waits for the parent's end, at most until the deadline.
  bool end_before(clock::time_point deadline) const noexcept {
    auto const now = clock::now();
    auto const until = deadline > now ? std::min(deadline, now + longest_nap) : now + shortest_nap;
    if (alarm >= 0) set_alarm(alarm, until);
    pollfd all[] = {{pipe, POLLIN, 0}, {signals, POLLIN, 0}, {alarm, POLLIN, 0}};
    auto const limit = std::chrono::ceil<milliseconds>(until - now).count();
    if (::poll(all, 3, static_cast<int>(limit)) <= 0) return false;
    return all[0].revents != 0 || (all[1].revents != 0 && is_of(parent, signals));
  }
};

// A process whose parent dies while its list is read may be missed, and may have a new child: until
// none is seen twice. Whoever could make us hang comes last, when the others have got theirs. Once
// the parent is gone, its number says nothing any more: it may be a stranger's.
void watchdog::end_work(page& shared, pid_t parent) noexcept {
  if (!shared.armed.exchange(false)) return;
  pid_t const group = shared.group.load();
  if (group > 0) ::kill(-group, SIGKILL);
  work_signs signs{.group = group, .mark = shared.mark.data(), .spared = shared.strangers.data()};
  for (auto const sleepers : {kernel_sleepers::passed_over, kernel_sleepers::asked}) {
    signs.sleepers = sleepers;
    bool const first = sleepers == kernel_sleepers::passed_over;
    auto const give_up = clock::now() + (first ? patience_with_sleepers : longest_nap);
    int pause_ms = 1;
    for (int clean = 0; clean < 2 && clock::now() < give_up;) {
      signs.ancestor = ::getppid() == parent ? parent : 0;
      clean = signal_work(signs, SIGKILL).none() ? clean + 1 : 0;
      ::poll(nullptr, 0, pause_ms);
      pause_ms = std::min(2 * pause_ms, longest_pause_ms);
    }
  }
}

// Only async-signal-safe calls: it is the child of a process with threads.
void watchdog::guard(page& shared, int pipe, pid_t parent) noexcept {
  ::setsid();                     // out of reach of Ctrl-C, Ctrl-Z and `kill -STOP %1`
  rename_process("lease-watch");  // `pkill herdlock` is not to hit the one that is for this case
  ::dup2(pipe, 0);
  // Whoever reads what herdlock prints must not wait for this process, too.
  close_from(1);
  signs_of_life const seen{parent, 0, await_end_of_parent(),
                           ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)};
  // The signal is for an end that is still to come.
  bool ended = ::getppid() != parent;
  while (!ended) {
    auto const deadline = clock::time_point(clock::duration(shared.deadline.load()));
    if (clock::now() >= deadline) end_work(shared, parent);
    ended = seen.end_before(deadline);
  }
  end_work(shared, parent);
  ::_exit(0);
}

watchdog::watchdog(clock::time_point deadline, std::string const& mark) {
  void* const memory =
      ::mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) raise_errno("cannot share memory with a process");
  shared_ = new (memory) page{deadline.time_since_epoch().count(), 0, false, {}, {}};
  std::copy_n(mark.data(), std::min(mark.size(), shared_->mark.size() - 1), shared_->mark.data());
  // Its own number is the first; see not_the_command().
  list_children(shared_->strangers.data() + 1, max_strangers);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ::munmap(shared_, sizeof(page));
    raise_errno("cannot make a pipe");
  }
  unique_fd const reading(ends[0]);
  alive_ = unique_fd(ends[1]);
  pid_t const self = ::getpid();
  {
    signals_blocked const blocked;  // for good in the child
    // fork(), but for the signal at its end: none.
    id_ = static_cast<pid_t>(::syscall(SYS_clone, 0, 0, 0, 0, 0));
    if (id_ == 0) guard(*shared_, reading.get(), self);
  }
  shared_->strangers[0] = id_;
  if (id_ > 0) return;
  ::munmap(shared_, sizeof(page));
  raise_errno("cannot start a process");
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
