// Rows for programs, shown to people.
#pragma once

#include "stage/report.hpp"

namespace herdlock::lab {

/// A column for each of the keys, where a row has it; the first is at the left. `_ms` at the end of
/// a key is a unit.
inline std::string table_of(json const& rows, std::vector<std::string> const& keys) {
  constexpr std::string_view unit = "_ms";
  std::vector<table::column> columns;
  for (auto head : keys) {
    if (head.ends_with(unit)) head.erase(head.size() - unit.size());
    for (char& c : head) c = c == '_' ? ' ' : c;
    columns.push_back({head, columns.empty() ? table::side::left : table::side::right});
  }
  table all(columns);
  for (auto const& row : rows) {
    std::vector<std::string> cells;
    for (auto const& key : keys) {
      auto const cell = row.value(key, json("-"));
      auto const* const behind = key.ends_with(unit) ? " ms" : "";
      cells.push_back(cell.is_string() ? cell.get<std::string>() : cell.dump() + behind);
    }
    all.row(cells);
  }
  return all.text();
}

}  // namespace herdlock::lab
