#include "hot/hot_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <herdlock/printable.hpp>
#include <utility>

#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

using json = nlohmann::ordered_json;

// ------------------------------------------------------------------- how wide a text is

struct glyph {
  std::string_view bytes;
  std::size_t columns;
};

using range_of_code_points = std::pair<unsigned, unsigned>;

bool is_in(unsigned point, std::vector<range_of_code_points> const& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [point](range_of_code_points const& range) {
    return point >= range.first && point <= range.second;
  });
}

// The usual estimate: East Asian characters and emoji are two columns wide, combining ones none.
std::size_t columns_of(unsigned point) {
  static std::vector<range_of_code_points> const none{
      {0x300, 0x36f}, {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2069}, {0xfe00, 0xfe0f}};
  static std::vector<range_of_code_points> const two{
      {0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
      {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};
  if (point < 0x300) return 1;
  if (is_in(point, none)) return 0;
  return is_in(point, two) ? 2 : 1;
}

// Of UTF-8, as printable() makes it.
std::vector<glyph> glyphs_of(std::string_view text) {
  std::vector<glyph> all;
  while (!text.empty()) {
    auto const first = static_cast<unsigned char>(text.front());
    std::size_t const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    auto const bytes = text.substr(0, length);
    unsigned point = length == 1 ? first : first & (0x7fU >> length);
    for (char const c : bytes.substr(1)) point = point << 6 | (static_cast<unsigned>(c) & 0x3fU);
    all.push_back({bytes, columns_of(point)});
    text.remove_prefix(bytes.size());
  }
  return all;
}

std::size_t width_of(std::vector<glyph> const& all) {
  std::size_t sum = 0;
  for (auto const& one : all) sum += one.columns;
  return sum;
}

std::size_t width_of(std::string_view text) { return width_of(glyphs_of(text)); }

template <class Glyphs>
std::vector<std::string_view> as_many_as_fit(Glyphs begin, Glyphs end, std::size_t columns) {
  std::vector<std::string_view> taken;
  std::size_t sum = 0;
  for (; begin != end && sum + begin->columns <= columns; ++begin) {
    sum += begin->columns;
    taken.push_back(begin->bytes);
  }
  return taken;
}

std::string cut_at_the_end(std::string_view text, std::size_t columns) {
  auto const all = glyphs_of(text);
  std::string cut;
  for (auto const bytes : as_many_as_fit(all.begin(), all.end(), columns)) cut += bytes;
  return cut;
}

// What a text is short of a width.
std::string blanks(std::string_view text, std::size_t width) {
  std::size_t const own = width_of(text);
  return std::string(width > own ? width - own : 0, ' ');
}

// --------------------------------------------------------------------------- the columns

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array units{"B", "KB", "MB", "GB", "TB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 999.5 && unit + 1 < units.size(); ++unit) size /= 1000;
  return fmt::format("{:.{}f} {}", size, unit == 0 || size >= 99.95 ? 0 : 1, units[unit]);
}

// By how many of those that have reported, and since when.
std::string kept_of(surveyed_key const& one) {
  if (!one.kept_by) return "";
  std::string text = std::to_string(*one.kept_by);
  if (one.reporters) text += fmt::format(" of {}", *one.reporters);
  if (one.kept_for && *one.kept_by > 0) text += ", " + say(*one.kept_for);
  return text;
}

std::string bounds_of(surveyed_key const& one) {
  if (one.high > 0) return fmt::format("{} to {}", readable(one.low), readable(one.high));
  return one.low > 0 ? fmt::format("{} or more", readable(one.low)) : "";
}

std::string or_empty(std::optional<double> const& number) {
  return number ? readable(*number) : "";
}

struct known_column {
  char const* head;
  std::string (*cell)(surveyed_key const& one);  // empty: not known
};

// The last ones go first when there is no room.
constexpr std::array<known_column, 8> all_columns{{
    {"RATE/S", [](surveyed_key const& one) { return readable(one.rate); }},
    {"BOUNDS", bounds_of},
    {"SHARE",
     [](surveyed_key const& one) {
       return one.share ? fmt::format("{:.1f} %", 100 * *one.share) : "";
     }},
    {"READS/S", [](surveyed_key const& one) { return or_empty(one.reads); }},
    {"WRITES/S", [](surveyed_key const& one) { return or_empty(one.writes); }},
    {"SIZE",
     [](surveyed_key const& one) {
       return one.bytes ? readable_bytes(*one.bytes) : std::string();
     }},
    {"KEPT", kept_of},
    {"SEEN IN",
     [](surveyed_key const& one) {
       return one.processes ? std::to_string(*one.processes) : std::string();
     }},
}};
constexpr std::size_t enough_for_a_key = 16;

// The head, and a cell for each key.
using filled_column = std::vector<std::string>;

std::vector<filled_column> filled_columns(survey const& seen) {
  std::vector<filled_column> filled;
  for (auto const& [head, cell] : all_columns) {
    filled_column one{head};
    bool known = false;
    for (auto const& key : seen.keys) {
      one.push_back(cell(key));
      known = known || !one.back().empty();
      if (one.back().empty()) one.back() = "-";
    }
    if (known) filled.push_back(std::move(one));
  }
  return filled;
}

std::size_t widest(filled_column const& column) {
  std::size_t most = 0;
  for (auto const& cell : column) most = std::max(most, width_of(cell));
  return most;
}

// Of all columns behind the keys, with two blanks before each.
std::size_t width_behind_keys(std::vector<filled_column> const& columns) {
  std::size_t sum = 0;
  for (auto const& one : columns) sum += 2 + widest(one);
  return sum;
}

// ------------------------------------------------------------------------- the live screen

std::string header_of(hot_view const& now, std::size_t columns) {
  std::string rest = fmt::format(", {}, {}", name_of(now.source), say(now.elapsed));
  if (now.seen && now.source == survey_source::clients) {
    rest += fmt::format(", {} processes", now.seen->processes);
  }
  if (now.ending) {
    rest += ": ending; again to end at once";
  } else if (now.percent && now.source != survey_source::clients) {  // which takes no time to see
    rest += fmt::format(": looking, {} %", *now.percent);
  } else if (!now.seen && now.trouble.empty()) {
    rest += ": looking";
  }
  if (!now.ending) rest += "; q quits";
  std::string const store = printable(now.store);
  std::size_t const room = columns - std::min(columns, width_of(rest));
  return cut_at_the_end(cut_in_the_middle(store, std::max(room, std::size_t{8})) + rest, columns);
}

// With a mark where it may be the beginning of several.
std::string shown_key(surveyed_key const& one) { return escaped(one.key) + (one.cut ? "…" : ""); }

// What limits the answer must not take the room of the answer.
std::vector<std::string> remarks_of(hot_view const& now, screen_size size) {
  std::vector<std::string> all;
  if (!now.trouble.empty()) all.push_back("failed, tried again: " + now.trouble);
  if (now.seen && now.trouble.empty() && !now.seen->cost.empty()) all.push_back(now.seen->cost);
  if (now.seen) all.insert(all.end(), now.seen->notes.begin(), now.seen->notes.end());
  all.resize(std::min(all.size(), std::max(size.rows / 4, std::size_t{1})));
  for (auto& one : all) one = cut_at_the_end(printable(one), size.columns);
  return all;
}

}  // namespace

std::string_view name_of(survey_source source) {
  for (auto const& [name, one] : survey_sources) {
    if (one == source) return name;
  }
  return "";
}

std::string readable(double number) {
  if (number == 0) return "0";
  if (number < 0.05) return "<0.1";
  if (number < 9.95) return fmt::format("{:.1f}", number);
  if (number < 999.5) return fmt::format("{:.0f}", number);
  constexpr std::array units{'k', 'M', 'G', 'T'};
  std::size_t unit = 0;
  for (number /= 1000; number >= 999.5 && unit + 1 < units.size(); ++unit) number /= 1000;
  return fmt::format("{:.{}f} {}", number, number < 99.95 ? 1 : 0, units[unit]);
}

std::string cut_in_the_middle(std::string_view text, std::size_t columns) {
  auto const all = glyphs_of(text);
  if (width_of(all) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t const left = columns - 1;  // beside the `…`
  std::string cut;
  for (auto const part : as_many_as_fit(all.begin(), all.end(), left - left / 2)) cut += part;
  cut += "…";
  auto const behind = as_many_as_fit(all.rbegin(), all.rend(), left / 2);
  for (auto part = behind.rbegin(); part != behind.rend(); ++part) cut += *part;
  return cut;
}

std::vector<std::string> hot_table(survey const& seen, std::size_t width) {
  filled_column keys{"KEY"};
  for (auto const& one : seen.keys) keys.push_back(shown_key(one));
  std::size_t const longest = widest(keys);
  auto columns = filled_columns(seen);
  std::size_t const least = std::min(longest, enough_for_a_key);
  while (columns.size() > 1 && width_behind_keys(columns) + least > width) columns.pop_back();
  std::size_t const taken = width_behind_keys(columns);
  std::size_t const room = std::min(longest, width > taken ? width - taken : 1);
  std::vector<std::string> lines;
  for (auto const& key : keys) {
    std::string const shown = cut_in_the_middle(key, room);
    lines.push_back(shown + blanks(shown, room));
  }
  for (auto const& column : columns) {
    std::size_t const own = widest(column);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += "  " + blanks(column[i], own) + column[i];
    }
  }
  return lines;
}

std::vector<std::string> nothing_found(survey_source source) {
  switch (source) {
    case survey_source::clients:
      return {"no process reports a key that is read often",
              "a cache reports a key from a hundredth of its fleet_threshold a second on;",
              "of a Redis, --source lfu and --source monitor ask what all clients use"};
    case survey_source::monitor:
      return {"no command with a key came in meanwhile; --for 30s listens for longer, and",
              "--source clients sees what caches answer without asking the server"};
    case survey_source::lfu:
      return {"there is no such key in the store; --prefix takes only keys that begin so"};
    case survey_source::server:
      return {"the server has counted no key; --for 30s counts for longer, and",
              "--source clients sees what caches answer without asking the server"};
  }
  return {};
}

json hot_json(survey const& seen, survey_source source) {
  auto const or_null = [](std::optional<double> const& number) {
    return number ? json(*number) : json(nullptr);
  };
  json list = json::array();
  for (auto const& one : seen.keys) {
    json told{{"key", one.key}};
    if (auto text = escaped(one.key); text != one.key) told["key_escaped"] = std::move(text);
    if (one.cut) told["key_cut"] = true;
    told["rate"] = one.rate;
    told["low"] = one.low;
    told["high"] = one.high > 0 ? json(one.high) : json(nullptr);
    told["reads"] = or_null(one.reads);
    told["writes"] = or_null(one.writes);
    told["source"] = name_of(source);
    if (one.share) told["share"] = *one.share;
    if (one.bytes) told["bytes"] = *one.bytes;
    if (one.processes) told["processes"] = *one.processes;
    if (one.kept_by) told["kept_by"] = *one.kept_by;
    if (one.kept_for) told["kept_for_ms"] = one.kept_for->count();
    list.push_back(std::move(told));
  }
  return list;
}

std::string hot_line(surveyed_key const& one, milliseconds elapsed) {
  std::string key;
  for (char const c : shown_key(one)) {
    // A blank would make two words of it.
    if (c == ' ') {
      key += "\\x20";
    } else {
      key += c;
    }
  }
  if (key.empty()) key = "\"\"";
  return fmt::format("{:.3f} {} {:.1f} {:.1f} {}", static_cast<double>(elapsed.count()) / 1000, key,
                     one.rate, one.low, one.high > 0 ? fmt::format("{:.1f}", one.high) : "-");
}

std::vector<std::string> hot_screen_lines(hot_view const& now, screen_size size) {
  std::vector<std::string> lines{header_of(now, size.columns)};
  for (auto& one : remarks_of(now, size)) lines.push_back(std::move(one));
  if (now.seen) {
    lines.emplace_back();
    auto const body =
        now.seen->keys.empty() ? nothing_found(now.source) : hot_table(*now.seen, size.columns);
    for (auto const& one : body) lines.push_back(cut_at_the_end(one, size.columns));
  }
  lines.resize(std::min(lines.size(), std::max(size.rows, std::size_t{1})));
  return lines;
}

}  // namespace herdlock::cli
