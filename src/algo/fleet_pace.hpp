// How often a process may report to its fleet, so that all reports together stay below a bound.
//
// A store that pushes sends each report to each process: n processes, whose reports have s bytes,
// make it send n² × s bytes for one report of each. So a process that has reported is silent for
//
//     n² × (s + bytes_around) ÷ most_bytes_a_second
//
// give or take a half, so that those who began together do not go on together. Then the store sends
// at most most_bytes_a_second in the mean, however many processes there are. A process that says
// nothing for four such times, and for the shortest silence, is taken for gone.
//
// Pure. Two processes may know different n for a while; the sum follows within a round.
#pragma once

#include <cstddef>
#include <cstdint>

#include <herdlock/types.hpp>

namespace herdlock::algo {

class fleet_pace {
 public:
  /// The bytes of reports that a store sends to all processes of one fleet together.
  static constexpr std::uint64_t most_bytes_a_second = 16 * 1024 * 1024;
  /// The bytes that a store sends with each report: the name of the channel, numbers.
  static constexpr std::size_t bytes_around = 96;
  static constexpr int silences = 4;

  /// The mean pause behind a report of so many bytes, among so many known processes.
  static clock::duration pause(std::size_t processes, std::size_t bytes) noexcept;
  /// A pause of half of that to three halves. `part`: random, from 0 to less than 1.
  static clock::duration pause(std::size_t processes, std::size_t bytes, double part) noexcept;
  /// The silence after which a process whose reports have so many bytes is taken for gone.
  static clock::duration silence(std::size_t processes, std::size_t bytes,
                                 clock::duration shortest) noexcept;
};

}  // namespace herdlock::algo
