// Whether the lines of MONITOR are read as fast as they come. What was not read is at the server,
// where we cannot see it, so the times in the lines are the measure. Pure: times are arguments.
#pragma once

#include <chrono>
#include <optional>

namespace herdlock::redis {

/// Of one server. Its wall clock and our clock begin anywhere and are not compared: a line is as
/// late as it is further behind our clock than the line that was least so.
class monitor_lag {
 public:
  /// A server that we do not follow keeps for us what we have not read, without a bound.
  static constexpr std::chrono::microseconds most = std::chrono::seconds(2);

  /// Of the next line: when it was executed, by the server's clock, and read, by ours.
  bool is_too_great(std::chrono::microseconds executed, std::chrono::microseconds read);

 private:
  std::optional<std::chrono::microseconds> last_;  // how far the line before was behind our clock
  std::chrono::microseconds least_{0};
  bool has_jumped_ = false;
};

}  // namespace herdlock::redis
