// Rows of words under a head.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace herdlock::cli {

/// A line for each row, all with as many cells; each column is as wide as the longest in it.
inline std::vector<std::string> text_table(std::vector<std::vector<std::string>> const& rows) {
  std::vector<std::string> lines(rows.size());
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    std::size_t width = 0;
    for (auto const& row : rows) width = std::max(width, row[column].size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      lines[i] += fmt::format("{:<{}}  ", rows[i][column], width);
    }
  }
  for (auto& line : lines) line.resize(line.find_last_not_of(' ') + 1);
  return lines;
}

}  // namespace herdlock::cli
