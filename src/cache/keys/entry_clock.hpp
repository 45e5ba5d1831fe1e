// The clock of the store as a cache knows it: framed entries are judged by it.
// Why: docs/decisions/cache.md#an-entrys-age-is-judged-where-it-is-read
#pragma once

#include <memory>

#include <herdlock/backend.hpp>

#include "algo/store_clock.hpp"
#include "cache/keys/home.hpp"

namespace herdlock::runtime {

/// All members on the executor.
class entry_clock {
 public:
  explicit entry_clock(home_ptr home) : home_(std::move(home)) {}

  algo::store_clock const& known() const noexcept { return clock_; }
  /// The clock is to be asked for before anything is read or stored: without it no entry could be
  /// judged, and none would get its times.
  bool is_needed() const { return !clock_.known() && clock::now() >= ask_again_; }
  /// Without the clock entries last as in a plain cache.
  void ask(cache_store& values, handler<void> done);
  /// Asks again when that is due.
  void keep(cache_store& values);

 private:
  home_ptr const home_;
  algo::store_clock clock_;
  bool asking_ = false;
  clock::time_point ask_again_{};
};

}  // namespace herdlock::runtime
