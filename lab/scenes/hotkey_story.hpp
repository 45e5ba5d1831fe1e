// What `herdlock-lab hotkey` shows when both runs are over.
#pragma once

#include <string>

#include "scenes/hotkey_judge.hpp"
#include "stage/report.hpp"

namespace herdlock::lab {

struct hotkey_seen {
  char const* name;
  hotkey_board const& board;
  hotkey_figures seen = count(board);
  std::vector<slice_figures> slices = each_slice(board);
};

struct hotkey_story {
  hotkey_options const& options;
  std::string const& store;  ///< as it is shown
  hotkey_keeping keeping;
  hotkey_seen without;
  hotkey_seen with;
};

/// In lines, and as data.
void tell_hotkey(hotkey_story const& story, judge const& judged, report& out);
/// An SVG document.
std::string drawn_hotkey(hotkey_story const& story);

/// `0.0004`, `0.32`, `4.51`, `12`
inline std::string short_ms(double ms) {
  return fmt::format("{:.{}f}", ms, ms < 0.0995 ? 4 : ms < 9.95 ? 2 : 0);
}

}  // namespace herdlock::lab
