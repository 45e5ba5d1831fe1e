// The pictures that demos draw: files in SVG.
#pragma once

#include <filesystem>
#include <string>

namespace herdlock::cli {

/// Before minutes of work, not after them: throws command_error (usage) for a --plot that cannot be
/// written. An empty path is none.
void check_picture(std::filesystem::path const& file);
/// Throws command_error (unavailable).
void write_picture(std::filesystem::path const& file, std::string const& svg);

/// A round step that gives four to eight ticks.
double tick_step(double span);

}  // namespace herdlock::cli
