#include "look/show_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <herdlock/printable.hpp>

#include "terminal/duration.hpp"
#include "common/json_text.hpp"

namespace herdlock::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t columns = 6;
using table_row = std::array<std::string, columns>;

json in_ms(std::optional<milliseconds> time) { return time ? json(time->count()) : json(nullptr); }

std::optional<milliseconds> remaining(lease_info const& seen) {
  if (seen.remaining > milliseconds{0}) return seen.remaining;
  return std::nullopt;
}

std::string or_dash(std::optional<milliseconds> time) { return time ? say(*time) : "-"; }

// The local time so long ago.
std::string local_time(milliseconds ago) {
  auto const then = std::chrono::system_clock::now() - ago;
  std::time_t const seconds = std::chrono::system_clock::to_time_t(then);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  auto const size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return std::string(text.data(), size);
}

table_row row_of(sighting const& one) {
  auto const& [name, seen] = one;
  return {in_quotes(name.str()),
          printable(seen.holder) + (seen.done ? " (done)" : ""),
          or_dash(seen.held_for),
          or_dash(remaining(seen)),
          seen.fencing.value == 0 ? "-" : std::to_string(seen.fencing.value),
          std::to_string(seen.waiting)};
}

}  // namespace

json as_json(resource const& name, std::optional<lease_info> const& seen) {
  json one{{"resource", name.str()}, {"held", seen.has_value()}};
  if (!seen) return one;
  one["holder"] = seen->holder;
  one["held_for_ms"] = in_ms(seen->held_for);
  one["done_ms_ago"] = in_ms(seen->done);
  one["fencing"] = seen->fencing.value;
  one["remaining_ms"] = in_ms(remaining(*seen));
  one["waiting"] = seen->waiting;
  one["waiters"] = seen->waiters;
  return one;
}

std::string as_text(resource const& name, std::optional<lease_info> const& seen) {
  if (!seen) return fmt::format("{}: free\n", in_quotes(name.str()));
  std::string text = fmt::format("{}: held by {}", in_quotes(name.str()), printable(seen->holder));
  if (seen->done) {
    text = fmt::format("{}: done by {} at {}", in_quotes(name.str()), printable(seen->holder),
                       local_time(*seen->done));
  } else if (seen->held_for)
    text += fmt::format(" for {}", say(*seen->held_for));
  if (seen->fencing.value != 0) text += fmt::format(", fencing token {}", seen->fencing.value);
  if (auto const left = remaining(*seen)) {
    text += seen->done ? fmt::format(", kept for {} more", say(*left))
                       : fmt::format(", for at most {} more unless renewed", say(*left));
  }
  text += seen->waiting == 0 ? "\n" : fmt::format(", {} waiting\n", seen->waiting);
  for (std::size_t i = 0; i < seen->waiters.size(); ++i) {
    text += fmt::format("  {:3}. {}\n", i + 1, printable(seen->waiters[i]));
  }
  return text;
}

std::string as_table(std::vector<sighting> const& all) {
  std::vector<table_row> rows{
      {"RESOURCE", "HOLDER", "HELD FOR", "REMAINING", "FENCING", "WAITING"}};
  for (auto const& one : all) rows.push_back(row_of(one));
  std::array<std::size_t, columns> widths{};
  for (auto const& row : rows) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string dumped(json const& what) { return json_text(what, json_form::indented) + "\n"; }

}  // namespace herdlock::cli
