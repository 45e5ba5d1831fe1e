#include "common/process_group.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "common/signal_watch.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/signals_blocked.hpp"

namespace herdlock::cli {
namespace {

// Handlers go back to the default; what was ignored (nohup) stays ignored.
void forget_handlers() noexcept {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
  }
}

struct birth {
  prepared_command const& command;
  terminal const& tty;
  watchdog& dog;
  sigset_t const& mask;
  pid_t parent;
  int report;
  clock::time_point not_after;
};

// What the child reports instead of an errno when its time was over.
constexpr int too_late = -1;

// In the child. Only async-signal-safe calls: the parent has threads.
[[noreturn]] void be_born(birth const& b) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != b.parent) ::_exit(static_cast<int>(exit_code::lost));
  b.dog.watch(::getpid());
  b.tty.give_to(::getpid());
  forget_handlers();
  ::pthread_sigmask(SIG_SETMASK, &b.mask, nullptr);
  int reason = too_late;
  // The machine may have slept, or been busy elsewhere, since the parent looked.
  if (clock::now() < b.not_after) {
    b.command.execute();
    reason = errno;
  }
  [[maybe_unused]] auto const written = ::write(b.report, &reason, sizeof reason);
  ::_exit(127);
}

std::optional<child_news> news_of_a_child(int what) {
  siginfo_t about{};
  if (::waitid(P_ALL, 0, &about, what | WNOHANG) != 0 || about.si_pid == 0) return std::nullopt;
  return child_news{about.si_pid, about.si_code, about.si_status};
}

[[noreturn]] void raise_too_late(std::string const& name) {
  throw command_error(
      exit_code::lost,
      fmt::format("the lease was lost before {} could start; it was not run", name));
}

}  // namespace

process_group::process_group(prepared_command const& command, terminal& tty, watchdog& dog,
                             start_options const& when)
    : dog_(dog) {
  // Why: docs/decisions/command.md#all-processes-of-a-command-keep-the-lease
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t const& mask = inherited_signal_mask();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) raise_errno("cannot make a pipe");
  unique_fd const reading(ends[0]);
  unique_fd writing(ends[1]);
  {
    // Between fork() and execve() no signal may reach the child: our handlers would run in it and
    // write into the pipe that it shares with us.
    signals_blocked const blocked;
    birth const b{command, tty, dog, mask, ::getpid(), writing.get(), when.not_after};
    if (clock::now() >= when.not_after) raise_too_late(command.name());
    id_ = ::fork();
    if (id_ == 0) be_born(b);
    if (id_ < 0) raise_errno("cannot start a process");
    // Both sides do this: whoever is first, the group exists when either goes on.
    ::setpgid(id_, id_);
    tty.give_to(id_);
    child_table& children = *this;
    reaper_.emplace(children, id_);
  }
  writing.reset();
  // execve() may wait for a slow file system.
  pollfd asked{reading.get(), POLLIN, 0};
  while (::poll(&asked, 1, 2) <= 0) when.while_waiting();
  int reason = 0;
  ssize_t got;
  do got = ::read(reading.get(), &reason, sizeof reason);
  while (got < 0 && errno == EINTR);
  if (got != sizeof reason) return;
  dog.stand_down();
  ::waitpid(id_, nullptr, 0);
  tty.take_back();
  if (reason == too_late) raise_too_late(command.name());
  raise_exec_failure(command.name(), reason);
}

work_signs process_group::all() const {
  return {.ancestor = ::getpid(), .spared = dog_.not_the_command()};
}

// As long as one of its processes is our child, be it a zombie, the group's number cannot be
// given to anybody else: the signal never hits a stranger. Else they are named one by one.
void process_group::signal(int number) const {
  siginfo_t about{};
  if (::waitid(P_PGID, static_cast<id_t>(id_), &about, WEXITED | WNOHANG | WNOWAIT) == 0) {
    ::kill(-id_, number);
    return;
  }
  work_signs signs = all();
  signs.only_in = id_;
  signal_work(signs, number);
}

work_seen process_group::signal_all(int number) const {
  signal(number);
  work_signs signs = all();
  signs.served = id_;
  return signal_work(signs, number);
}

std::optional<child_news> process_group::ended() { return news_of_a_child(WEXITED | WNOWAIT); }

std::optional<child_news> process_group::stopped() { return news_of_a_child(WSTOPPED); }

void process_group::reap(pid_t child) {
  siginfo_t about{};
  ::waitid(P_PID, static_cast<id_t>(child), &about, WEXITED | WNOHANG);
}

pid_t process_group::group_of(pid_t process) { return ::getpgid(process); }

pid_t process_group::child_in(pid_t group, pid_t but_not) {
  return youngest_child_in(group, but_not);
}

work_seen process_group::walk(pid_t group) {
  work_signs in_group = all();
  in_group.only_in = group;
  return signal_work(in_group, 0);
}

// The watchdog is no child in this sense. Those that were there before it are: they are looked for
// only when there is nothing else to do, and then not waited for.
bool process_group::gone() const {
  if (!leader_status()) return false;
  siginfo_t about{};
  if (::waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
  if (dog_.not_the_command()[1] == 0) return false;
  return signal_work(all(), 0).none();
}

}  // namespace herdlock::cli
