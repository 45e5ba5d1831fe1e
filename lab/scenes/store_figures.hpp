// What is measured of one store, and the measuring.
#pragma once

#include "stage/stage.hpp"

namespace herdlock::lab {

/// The ttl of the lease whose holder is killed: about the shortest that every store can tell apart.
inline constexpr milliseconds crash_ttl{3000};
inline constexpr int contenders = 8;

/// Each is one round, in processes of its own, which open the store; the caller clears the stage.
/// Throws command_error (unavailable) when the store cannot be used, or does not get anywhere
/// within a minute.
using measure = std::vector<double>(stage& on, std::string const& url);

measure pairs_per_second;  ///< acquire+release one after the other
measure pairs_of_64;       ///< per second, by 64 at once, each on its own resource
/// In milliseconds from release called to the next one's acquire returned, in bursts of contenders
/// in processes of their own that arrive together.
measure hand_overs;
measure take_over;  ///< in milliseconds from the holder's SIGKILL to the next one's grant

}  // namespace herdlock::lab
