// What `herdlock-lab hotkey` shows when both runs are over.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "scenes/hotkey_judge.hpp"
#include "stage/report.hpp"

namespace herdlock::lab {

/// Without hot keys, and with them.
using hotkey_runs = std::array<hotkey_figures, 2>;

/// In lines, and as data.
void tell_hotkey(hotkey_runs const& runs, judge const& judged, report& out);
/// An SVG document.
std::string drawn_hotkey(hotkey_runs const& runs);

/// Why the p99 of the other keys is what it is, in lines: what a viewer will ask.
std::vector<std::string> why_others_wait(hotkey_figures const& run);

/// `0.0004`, `0.32`, `4.51`, `12`
inline std::string short_ms(double ms) {
  return fmt::format("{:.{}f}", ms, ms < 0.0995 ? 4 : ms < 9.95 ? 2 : 0);
}
inline std::string short_p99(call_figures const& of) {
  return short_ms(of.took.percentile_ms(0.99));
}

}  // namespace herdlock::lab
