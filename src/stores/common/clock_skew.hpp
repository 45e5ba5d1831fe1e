// The check that every server with a clock gets.
#pragma once

#include <chrono>
#include <cstdint>
#include <herdlock/examination.hpp>
#include <herdlock/types.hpp>
#include <string>

#include "stores/common/numbers.hpp"

namespace herdlock {

/// Wall clocks that differ by more are a finding.
inline constexpr milliseconds tolerated_skew{2'000};

inline std::int64_t wall_clock_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// `server` was read between `before` and `after`, all in microseconds since 1970.
inline milliseconds skew_of(std::int64_t server, std::int64_t before, std::int64_t after) {
  std::int64_t const off = server < before ? before - server : server > after ? server - after : 0;
  return milliseconds(off / 1'000);
}

inline void check_skew(examination& into, std::string check, std::string const& place,
                       milliseconds skew) {
  into.expect(
      skew <= tolerated_skew,
      {std::move(check), severity::warning,
       "the clocks of this machine and of the server at " + place + " differ by " + in_ms(skew),
       "leases are counted by the server's clock alone and hold, but times in logs cannot "
       "be compared, and a clock that is being set makes leases end early or late",
       "run NTP (chrony, systemd-timesyncd) on both"});
}

}  // namespace herdlock
