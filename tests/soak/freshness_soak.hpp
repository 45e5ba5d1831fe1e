// What the parts of freshness_soak share: its options, and the figures that its processes tell.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <support/redis_server.hpp>

#include "verdict.hpp"

namespace herdlock_test {

using std::chrono::milliseconds;

inline constexpr std::size_t most_generations = 100'000;
/// What a load without the store came to answers in its process for so long: docs/guarantees.md.
inline constexpr milliseconds kept_without_store{250};

inline std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline std::int64_t in_us(milliseconds span) { return std::chrono::microseconds(span).count(); }

/// Times from 1 µs on, 16 buckets for each doubling.
struct histogram {
  std::array<std::atomic<std::uint64_t>, 512> counts{};
  std::atomic<std::int64_t> longest_us{0};

  void note(std::int64_t us) {
    auto longest = longest_us.load();
    while (us > longest && !longest_us.compare_exchange_weak(longest, us)) {
    }
    auto const at = std::log2(double(std::max<std::int64_t>(us, 1))) * 16;
    ++counts.at(std::min<std::size_t>(static_cast<std::size_t>(at), counts.size() - 1));
  }
  double quantile_us(double share) const {
    std::uint64_t all = 0;
    for (auto const& one : counts) all += one;
    auto left = static_cast<std::uint64_t>(double(all) * share);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts.at(i) > left) return std::exp2(double(i + 1) / 16);
      left -= counts.at(i);
    }
    return 0;
  }
};

enum class memory { room, full, room_again };

/// What the processes tell each other, in a file that all map.
struct figures {
  // One key over its generations.
  std::atomic<std::uint64_t> generation{0};
  std::array<std::atomic<std::uint32_t>, most_generations> begun{};
  std::atomic<std::int64_t> expires_us{0};
  std::atomic<std::int64_t> head_starts_us{0};  // their sum, at the end of each load
  std::atomic<std::int64_t> first_fill_us{0}, last_fill_us{0};
  // An outage of the loader.
  std::atomic<std::int64_t> fails_from_us{0}, fails_until_us{0}, first_failed_us{0},
      recovered_us{0};
  std::atomic<std::uint64_t> failed_loads{0};
  // A store that is full.
  std::atomic<memory> store{memory::room};
  std::atomic<std::uint64_t> loads_of_cached{0}, loads_of_missing{0}, errors_of_missing{0};
  std::atomic<std::int64_t> least_gap_us{
      0};                    // between two loads of one key in one process; 0: none
  std::atomic<int> warm{0};  // processes that have had each key
  // All cases.
  std::atomic<std::uint64_t> calls{0}, waited{0}, stale{0}, errors{0};
  std::atomic<int> ended{0};
  std::atomic<bool> stop{false};
  histogram cached, plain;
};

struct soak_options {
  std::string what = "claim";
  std::uint64_t generations = 50;
  int processes = 4;
  int callers = 10;
  int keys = 20;
  milliseconds ttl{500};
  milliseconds load{20};
  milliseconds pause{20};
  double beta = 1;
  milliseconds outage{5000};
  milliseconds first{250};
  milliseconds most{2000};
  milliseconds excess{2000};

  std::string url, shared;  // of a worker
};

/// In a process of the fleet, until the figures say stop.
void work_at_one_key(soak_options const& options);
void work_at_a_full_store(soak_options const& options);

/// `wait_for` waits until something holds, as long as all workers live and loads go on.
using waiting = std::function<void(std::function<bool()> const&)>;
void play_full(soak_options const& options, redis_server const& server, figures& seen,
               waiting const& wait_for, verdict& how);

inline boost::asio::awaitable<void> pause_for(boost::asio::io_context& io, milliseconds span) {
  boost::asio::steady_timer timer(io, span);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

}  // namespace herdlock_test
