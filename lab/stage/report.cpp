#include "stage/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "terminal/standard_output.hpp"

namespace herdlock::lab {

using cli::command_error;
using cli::exit_code;

namespace {

// Not bytes: a column is as wide as it looks.
std::size_t width_of(std::string const& text) {
  std::size_t wide = 0;
  for (unsigned char const c : text) wide += (c & 0xC0) != 0x80;
  return wide;
}

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  cli::flush_output();
}

}  // namespace

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  int const first_digit = number < 0 ? 1 : 0;
  for (auto at = static_cast<int>(text.size()) - 3; at > first_digit; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

double to_micros(double ms) { return std::round(ms * 1e3) / 1e3; }

std::string counted(std::int64_t count, char const* one, char const* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string table::text() const {
  std::vector<std::size_t> wide;
  for (auto const& each : columns_) wide.push_back(width_of(each.head));
  for (auto const& cells : rows_) {
    for (std::size_t i = 0; i < columns_.size() && i < cells.size(); ++i) {
      wide[i] = std::max(wide[i], width_of(cells[i]));
    }
  }
  std::string all;
  auto const add = [&](auto const& cell_of, std::size_t count) {
    std::string line;
    for (std::size_t i = 0; i < count; ++i) {
      std::string const cell = cell_of(i);
      bool const in_column = i < columns_.size();
      std::size_t const space = in_column ? wide[i] - width_of(cell) : 0;
      bool const left = !in_column || columns_[i].where == side::left;
      if (i > 0) line += "  ";
      line += left ? cell + std::string(space, ' ') : std::string(space, ' ') + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  };
  add([&](std::size_t i) { return columns_[i].head; }, columns_.size());
  for (auto const& cells : rows_) add([&](std::size_t i) { return cells[i]; }, cells.size());
  return all;
}

report::report(bool as_json, std::filesystem::path picture)
    : as_json_(as_json), picture_file_(std::move(picture)) {
  if (picture_file_.empty()) return;
  // Before minutes of work, not behind them.
  auto const folder = picture_file_.parent_path();
  bool const fine = ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0 &&
                    !std::filesystem::is_directory(picture_file_);
  if (fine) return;
  throw command_error(exit_code::usage,
                      fmt::format("--plot {}: cannot be written there", picture_file_.string()));
}

void report::line(std::string_view text) const {
  if (!as_json_) put(std::string(text) + "\n");
}

int report::end(judge const& judged) {
  if (as_json_) {
    // What a server said need not be UTF-8.
    put(data_.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  for (auto const& sentence : judged.broken()) line("BROKEN  " + sentence);
  if (wants_picture()) {
    std::ofstream out(picture_file_);
    out << svg_;
    out.flush();
    if (!out) {
      throw command_error(exit_code::unavailable, fmt::format("--plot {}: could not be written",
                                                              picture_file_.string()));
    }
    line("\nThe picture is in " + picture_file_.string());
  }
  return static_cast<int>(judged.kept() ? exit_code::success : exit_code::promise_broken);
}

}  // namespace herdlock::lab
