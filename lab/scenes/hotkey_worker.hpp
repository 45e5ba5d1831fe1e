// A process of `herdlock demo hotkey`: it asks a cache, at an even rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <herdlock/types.hpp>
#include <string>

#include "scenes/hotkey_board.hpp"
#include "scenes/hotkey_figures.hpp"
#include "scenes/hotkey_options.hpp"

namespace herdlock::cli {

enum class hotkey_run { without, with };

struct hotkey_terms {
  hotkey_options const& options;
  std::string url;
  std::string prefix;  ///< of the cache's keys; the same in both runs
  hotkey_run run = hotkey_run::without;
  hotkey_keeping keeping = hotkey_keeping::cannot;
  milliseconds patience{};
};

/// In the parent, too: throws herdlock::error for a store that cannot be a cache. Without a round
/// trip.
hotkey_keeping keeping_of(std::string const& url);

/// By the stages of the board. What ends it before stands there and is thrown.
void ask_for_keys(hotkey_terms const& terms, std::size_t number, hotkey_board& board);

}  // namespace herdlock::cli
