#include "bench/bench_board.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "common/exit_code.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds patience = 90s;

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

void bench_processes::start(bench_board& board, std::function<void()> const& work) {
  running_.emplace_back(work, [&board](std::string_view why) { board.complain(why); });
}

void bench_processes::kill(std::size_t n) {
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(n));
}

void bench_processes::await(bench_board& board) {
  note_interruptions();
  auto const end = std::chrono::steady_clock::now() + patience;
  bool failed = false;
  while (!running_.empty() && !failed) {
    throw_if_interrupted();
    if (std::chrono::steady_clock::now() > end) {
      throw command_error(exit_code::unavailable,
                          fmt::format("nothing came of it within {} s", patience.count() / 1000));
    }
    std::this_thread::sleep_for(5ms);
    std::erase_if(running_, [&](forked_process& child) {
      bool const ended = child.ended();
      failed = failed || child.failed();
      return ended;
    });
  }
  if (!failed) return;
  std::string const why = board->complaint.data();
  throw command_error(exit_code::unavailable,
                      why.empty() ? "a process ended before its work" : why);
}

}  // namespace herdlock::cli
