#include "stage/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "terminal/standard_output.hpp"

namespace herdlock::lab {

namespace {

// Not bytes: a column is as wide as it looks.
std::size_t width_of(std::string const& text) {
  std::size_t wide = 0;
  for (unsigned char const c : text) wide += (c & 0xC0) != 0x80;
  return wide;
}

// `PING, slowest` and `ms`: `ping_slowest_ms`
std::string key_of(std::string_view words, std::string_view unit = {}) {
  std::string key;
  bool is_gap = false;
  for (unsigned char const c : fmt::format("{} {}", words, unit)) {
    if (std::isalnum(c) && std::exchange(is_gap, false) && !key.empty()) key += '_';
    if (std::isalnum(c)) key += static_cast<char>(std::tolower(c));
    if (!std::isalnum(c)) is_gap = true;
  }
  return key;
}

void put(std::string text) {
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
  cli::flush_output();
}

// What a server said need not be UTF-8.
void put(json const& what, int indent) {
  put(what.dump(indent, ' ', false, json::error_handler_t::replace));
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
  std::vector<std::vector<std::string>> lines(1);
  for (auto const& each : columns_) lines[0].push_back(each.head);
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<std::size_t> wide(columns_.size() + 1);  // a remark is as wide as it is
  for (auto const& cells : lines) {
    for (std::size_t i = 0; i < std::min(columns_.size(), cells.size()); ++i) {
      wide[i] = std::max(wide[i], width_of(cells[i]));
    }
  }
  std::string all;
  for (auto const& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::string const space(wide[i] - std::min(wide[i], width_of(cells[i])), ' ');
      bool const right = i < columns_.size() && columns_[i].where == side::right;
      line += (right ? space + cells[i] : cells[i] + space) + "  ";
    }
    all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return all;
}

report::report(bool as_json, std::filesystem::path picture)
    : as_json_(as_json), picture_file_(std::move(picture)) {
  if (picture_file_.empty()) return;
  // Before minutes of work, not behind them.
  auto const folder = std::filesystem::absolute(picture_file_).parent_path();
  if (::access(folder.c_str(), W_OK) == 0 && !is_directory(picture_file_)) return;
  throw command_error(exit_code::usage,
                      fmt::format("--plot {}: cannot be written there", picture_file_.string()));
}

void report::line(std::string_view text) const {
  if (!as_json_) put(std::string(text));
}

void report::event(json const& what) const {
  if (as_json_) put(what, -1);
}

void report::figure(std::string_view words, json value, std::string_view unit) {
  if (value.is_number_float()) value = to_micros(value.get<double>());
  auto const shown = value.is_number_integer() ? with_commas(value.get<std::int64_t>())
                     : value.is_string()       ? value.get<std::string>()
                                               : value.dump();
  line(fmt::format("{:<52} {:>12}{}{}", words, shown, unit.empty() ? "" : " ", unit));
  data_[key_of(words, unit)] = std::move(value);
}

void report::times(std::string_view words, latency_sum const& took) {
  json& all = data_[key_of(words)];
  all["count"] = took.count();
  std::string text;
  for (auto const& [name, share] :
       {std::pair("p50", 0.5), {"p99", 0.99}, {"p99.9", 0.999}, {"slowest", 1.0}}) {
    auto const ms = share == 1.0 ? took.slowest_ms() : took.percentile_ms(share);
    all[key_of(name, "ms")] = to_micros(ms);
    text += fmt::format("{} {} {:.3f} ms", text.empty() ? "" : ",", name, ms);
  }
  line(fmt::format("{}{}", words, text));
}

int report::end(judge const& judged) {
  if (as_json_ && !data_.is_null()) put(data_, 2);
  for (auto const& sentence : judged.broken()) line("BROKEN  " + sentence);
  if (wants_picture()) {
    std::ofstream out(picture_file_);
    out << svg_;
    out.flush();
    if (!out) {
      throw command_error(exit_code::unavailable,
                          fmt::format("--plot {}: could not be written", picture_file_.string()));
    }
    line("\nThe picture is in " + picture_file_.string());
  }
  return static_cast<int>(judged.kept() ? exit_code::success : exit_code::promise_broken);
}

}  // namespace herdlock::lab
