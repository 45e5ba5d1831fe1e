#include "stage/forked_process.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "terminal/exit_code.hpp"

namespace herdlock::lab {
namespace {

volatile sig_atomic_t interrupted_by = 0;
void on_signal(int number) { interrupted_by = number; }

}  // namespace

forked_process::forked_process(std::function<int()> const& work) {
  pid_t const parent = ::getpid();
  id_ = ::fork();
  if (id_ < 0) throw cli::command_error(cli::exit_code::internal, "cannot start a process");
  if (id_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);  // of the terminal's group: the parent says when to stop
  ::_exit(::getppid() == parent ? work() : 1);
}

void forked_process::signal(int number) const {
  if (id_ > 0) ::kill(id_, number);
}

void forked_process::kill() {
  if (id_ < 0) return;
  ::kill(id_, SIGKILL);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
}

bool forked_process::ended() {
  if (id_ < 0) return false;
  int status = 0;
  if (::waitpid(id_, &status, WNOHANG) != id_) return false;
  failed_ = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  id_ = -1;
  return true;
}

void note_interruptions() {
  for (int const number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, on_signal);
}

void throw_if_interrupted() {
  if (interrupted_by == 0) return;
  throw cli::command_error(static_cast<cli::exit_code>(128 + interrupted_by), "interrupted");
}

}  // namespace herdlock::lab
