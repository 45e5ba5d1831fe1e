// What is measured of one store, and the measuring.
#pragma once

#include <herdlock/types.hpp>
#include <string>
#include <vector>

#include "stage/stage.hpp"

namespace herdlock::lab {

struct store_figures {
  std::string url;
  std::string store;                   ///< the URL without the password
  std::vector<double> pairs{};         ///< acquire+release one after the other, per second
  std::vector<double> pairs_of_64{};   ///< 64 at once, each on its own resource, per second
  std::vector<double> hand_over_ms{};  ///< from release called to the next one's acquire returned
  std::vector<double> take_over_ms{};  ///< from the holder's SIGKILL to the next one's grant
  std::string trouble{};               ///< why it could not be measured; empty: it was
};

inline constexpr int contenders = 8;
/// The ttl of the lease whose holder is killed: about the shortest that every store can tell apart.
inline constexpr milliseconds crash_ttl{3000};

/// Each adds one round, in processes of its own, which open the store. Throws command_error
/// (unavailable) when the store cannot be used, or does not get anywhere within a minute.
void measure_pairs(stage& on, store_figures& of);
void measure_pairs_of_64(stage& on, store_figures& of);
/// Bursts of contenders in processes of their own that arrive together.
void measure_hand_over(stage& on, store_figures& of);
void measure_take_over(stage& on, store_figures& of);

}  // namespace herdlock::lab
