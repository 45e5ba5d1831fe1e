#include "bench/bench_board.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "common/exit_code.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds patience = 90s;

volatile sig_atomic_t interrupted_by = 0;
void on_signal(int number) { interrupted_by = number; }

}  // namespace

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bench_board::bench_board(unsigned members) {
  void* const memory =
      ::mmap(nullptr, sizeof(content), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw command_error(exit_code::internal, "no shared memory");
  shared_ = ::new (memory) content{};
  pthread_barrierattr_t across;
  ::pthread_barrierattr_init(&across);
  ::pthread_barrierattr_setpshared(&across, PTHREAD_PROCESS_SHARED);
  ::pthread_barrier_init(&shared_->gate, &across, members);
  ::pthread_barrierattr_destroy(&across);
}

bench_board::~bench_board() { ::munmap(shared_, sizeof(content)); }

void bench_board::complain(std::string_view text) {
  auto const length = std::min(text.size(), shared_->complaint.size() - 1);
  std::copy_n(text.data(), length, shared_->complaint.data());
}

bench_processes::~bench_processes() {
  for (pid_t const each : running_) {
    ::kill(each, SIGKILL);
    ::waitpid(each, nullptr, 0);
  }
}

void bench_processes::start(bench_board& board, std::function<void()> const& work) {
  pid_t const parent = ::getpid();
  pid_t const child = ::fork();
  if (child < 0) throw command_error(exit_code::internal, "cannot start a process");
  if (child > 0) {
    running_.push_back(child);
    return;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);  // of the terminal's group: the parent says when to stop
  if (::getppid() != parent) ::_exit(1);
  try {
    work();
  } catch (std::exception const& e) {
    board.complain(e.what());
    ::_exit(1);
  }
  ::_exit(0);
}

void bench_processes::kill(std::size_t n) {
  ::kill(running_.at(n), SIGKILL);
  ::waitpid(running_[n], nullptr, 0);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(n));
}

void bench_processes::await(bench_board& board) {
  for (int const number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, on_signal);
  auto const end = std::chrono::steady_clock::now() + patience;
  bool failed = false;
  while (!running_.empty() && !failed) {
    if (interrupted_by != 0)
      throw command_error(static_cast<exit_code>(128 + interrupted_by), "interrupted");
    if (std::chrono::steady_clock::now() > end) {
      throw command_error(exit_code::unavailable,
                          fmt::format("nothing came of it within {} s", patience.count() / 1000));
    }
    std::this_thread::sleep_for(5ms);
    std::erase_if(running_, [&](pid_t child) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) != child) return false;
      failed = failed || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
      return true;
    });
  }
  if (!failed) return;
  std::string const why = board->complaint.data();
  throw command_error(exit_code::unavailable,
                      why.empty() ? "a process ended before its work" : why);
}

}  // namespace herdlock::cli
