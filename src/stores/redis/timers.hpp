// The timers of this store, on the clock of Asio's own.
#pragma once

#include <chrono>
#include <functional>

#include "stores/common/timer_queue.hpp"

namespace herdlock::redis {

using timer_queue = stores::basic_timer_queue<std::chrono::steady_clock>;
using stores::run_after;
using stores::run_at;

/// Calls a function when its time has come. The function may destroy the alarm.
class alarm final : public timer_queue::entry {
 public:
  explicit alarm(std::function<void()> ring) : ring_(std::move(ring)) {}

 private:
  void on_due(time_point) override {
    auto const ring = ring_;
    ring();
  }

  std::function<void()> ring_;
};

}  // namespace herdlock::redis
