// What the parts of hot_soak share: its options, and the figures that its processes tell.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <herdlock/cache_options.hpp>
#include <string>

#include "verdict.hpp"

namespace herdlock_test {

using std::chrono::milliseconds;

inline constexpr std::size_t most_processes = 16;
inline constexpr std::size_t most_bursts = 200;

inline std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// What a process saw of a burst.
struct burst_figures {
  std::atomic<std::int64_t> kept_us{0};     // when its first call was answered by what it keeps
  std::atomic<std::uint64_t> asked{0};      // calls that went to the server before
  std::atomic<std::int64_t> slowest_us{0};  // of these
  std::atomic<std::int64_t> longest_us{0};  // between two of these: the machine stood still
};

struct worker_figures {
  std::array<burst_figures, most_bursts> bursts;
  std::atomic<std::uint64_t> calls{0}, near_hits{0}, misses{0}, stale{0}, behind_fence{0};
  std::atomic<std::uint64_t> became_hot{0}, cooled{0}, reported{0};
  std::atomic<std::int64_t> let_go_us{0};
};

/// In a file that all map.
struct figures {
  std::array<worker_figures, most_processes> workers;
  std::atomic<int> joined{0};  // gives each process its number
  std::atomic<int> burst{0};   // the one that goes on, from 1; 0: none
  std::atomic<bool> quiet{false};
  std::atomic<std::uint64_t> acknowledged{0};  // the last value whose write was
  std::atomic<int> ended{0};
  std::atomic<bool> stop{false};
};

struct soak_options {
  std::string what = "burst";
  int processes = 10;
  int bursts = 20;
  double rate = 2000;  // of each process
  int writes = 1;      // 0: the key is not written
  milliseconds every{2000};
  int times = 0;  // 1: they are judged
  milliseconds time{10'000};
  milliseconds ttl{2000};
  milliseconds window{2000};
  std::string url, shared;  // of a worker
};

/// Of the caches of a worker.
herdlock::cache_options options_of(soak_options const& options);

/// In a process of the fleet, until the figures say stop.
void work_in_bursts(soak_options const& options);
void work_at_an_even_rate(soak_options const& options);
void work_in_a_crowd(soak_options const& options);

}  // namespace herdlock_test
