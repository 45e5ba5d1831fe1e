// Many alarms over one timer.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>

#include <herdlock/detail/async.hpp>

namespace herdlock::redis {

/// One alarm per id; setting it again moves it. All members on the executor; O(log n).
class alarm_clock : public std::enable_shared_from_this<alarm_clock> {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `ring(id)` is called with the alarm taken out; not after close().
  alarm_clock(asio::any_io_executor const& executor, std::function<void(std::uint64_t)> ring)
      : timer_(executor), ring_(std::move(ring)) {}

  void set(std::uint64_t id, time_point when);
  /// Does not move it to a later time.
  void set_no_later(std::uint64_t id, time_point when);
  void cancel(std::uint64_t id);
  bool is_set(std::uint64_t id) const { return times_.contains(id); }
  void close();

 private:
  void arm();
  void on_timer();

  asio::steady_timer timer_;
  std::function<void(std::uint64_t)> ring_;
  std::set<std::pair<time_point, std::uint64_t>> order_;
  std::unordered_map<std::uint64_t, time_point> times_;
};

}  // namespace herdlock::redis
