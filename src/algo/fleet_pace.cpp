#include "algo/fleet_pace.hpp"

#include <algorithm>

namespace herdlock::algo {

clock::duration fleet_pace::pause(std::size_t processes, std::size_t bytes) noexcept {
  std::uint64_t const sent = std::uint64_t(processes) * processes * (bytes + bytes_around);
  return milliseconds(static_cast<milliseconds::rep>(sent * 1000 / most_bytes_a_second));
}

clock::duration fleet_pace::pause(std::size_t processes, std::size_t bytes, double part) noexcept {
  auto const mean = static_cast<double>(pause(processes, bytes).count());
  return clock::duration(static_cast<clock::duration::rep>(mean * (0.5 + part)));
}

clock::duration fleet_pace::silence(std::size_t processes, std::size_t bytes,
                                    clock::duration shortest) noexcept {
  return std::max(shortest, silences * pause(processes, bytes));
}

}  // namespace herdlock::algo
