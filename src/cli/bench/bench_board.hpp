// What the processes of one measurement share: a page of memory and the processes themselves.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <herdlock/types.hpp>
#include <string_view>
#include <vector>

#include "common/forked_process.hpp"

namespace herdlock::cli {

/// Nanoseconds of the steady clock, which all processes of a machine share.
std::int64_t steady_ns();

/// In memory that is shared with the processes forked from now on.
class bench_board {
 public:
  static constexpr std::size_t max_turns = 4096;

  /// Throws command_error when there is no memory. `members` meet at the gate.
  explicit bench_board(unsigned members);
  ~bench_board();
  bench_board(bench_board const&) = delete;
  bench_board& operator=(bench_board const&) = delete;

  struct turn {
    std::int64_t acquired;
    std::int64_t released;
    std::int64_t burst;
  };
  struct content {
    pthread_barrier_t gate;
    std::atomic<std::size_t> turns;
    std::atomic<bool> over;
    std::atomic<bool> holding;
    std::atomic<bool> waiting;
    std::atomic<std::int64_t> granted;
    std::atomic<double> rate;
    std::array<turn, max_turns> log;
    std::array<char, 512> complaint;
  };

  content* operator->() { return shared_; }
  void meet() { ::pthread_barrier_wait(&shared_->gate); }
  void complain(std::string_view text);

 private:
  content* shared_;
};

/// Those that are left are killed with it.
class bench_processes {
 public:
  /// The work may throw: its message goes to the board, and the process has failed.
  void start(bench_board& board, std::function<void()> const& work);
  /// SIGKILL for the n-th, which counts no more.
  void kill(std::size_t n);
  /// Until all have ended. Throws command_error when one failed, all took too long, or the user
  /// interrupted.
  void await(bench_board& board);

 private:
  std::vector<forked_process> running_;
};

}  // namespace herdlock::cli
