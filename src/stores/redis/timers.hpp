// The timers of this store, on the clock of Asio's own.
#pragma once

#include <chrono>
#include <functional>

#include "stores/common/shared_timer.hpp"

namespace herdlock::redis {

using steady_shared_timer = stores::shared_timer<std::chrono::steady_clock>;
using stores::run_after;
using stores::run_at;

/// Calls a function when its time has come. The function may destroy the alarm.
class alarm final : public steady_shared_timer::entry {
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
