// What is measured of one store, and the measuring.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <herdlock/types.hpp>

namespace herdlock::cli {

struct store_figures {
  std::string store;                   ///< its URL without the password
  std::vector<double> pairs{};         ///< acquire+release one after the other, per second
  std::vector<double> pairs_of_64{};   ///< 64 at once, each on its own resource, per second
  std::vector<double> hand_over_ms{};  ///< from release called to the next one's acquire returned
  std::vector<double> take_over_ms{};  ///< from the holder's SIGKILL to the next one's grant
  std::string trouble{};               ///< why it could not be measured; empty: it was

  /// Of some figures, 0 when there are none. `part` from 0 to 1.
  static double percentile(std::vector<double> values, double part);
};

namespace store_bench {

inline constexpr int at_once = 64;
inline constexpr int contenders = 8;
inline constexpr milliseconds hold{1};
/// Of the lease whose holder is killed: about the shortest that every store can tell apart.
inline constexpr milliseconds crash_ttl{3000};

/// Adds one round to `into`. Each measurement runs in processes of its own, which open the store;
/// they die with this one. Throws command_error when the store cannot be used, or does not get
/// anywhere within a minute.
void measure_pairs(std::string const& url, store_figures& into);
void measure_pairs_of_64(std::string const& url, store_figures& into);
/// Bursts of contenders in processes of their own that arrive together.
void measure_hand_over(std::string const& url, store_figures& into);
void measure_take_over(std::string const& url, store_figures& into);

}  // namespace store_bench
}  // namespace herdlock::cli
