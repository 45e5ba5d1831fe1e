#include "hot/hot_table.hpp"

#include <algorithm>
#include <array>
#include <herdlock/printable.hpp>

#include "terminal/code_point.hpp"
#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

using json = nlohmann::ordered_json;

// ------------------------------------------------------------------- how wide a text is

struct glyph {
  std::string_view bytes;
  std::size_t columns;
};

struct code_points {
  unsigned first;
  unsigned last;
  std::size_t columns;
};

// The usual estimate: East Asian characters and emoji are two columns wide, combining ones none.
constexpr code_points not_of_one_column[]{
    {0x300, 0x36f, 0},   {0x1100, 0x115f, 2},   {0x200b, 0x200f, 0},  {0x202a, 0x202e, 0},
    {0x2060, 0x2069, 0}, {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},  {0xac00, 0xd7a3, 2},
    {0xf900, 0xfaff, 2}, {0xfe00, 0xfe0f, 0},   {0xfe30, 0xfe6f, 2},  {0xff00, 0xff60, 2},
    {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2}};

std::size_t columns_of(unsigned point) {
  for (auto const& [first, last, columns] : not_of_one_column) {
    if (point >= first && point <= last) return columns;
  }
  return 1;
}

// Of UTF-8, as printable() makes it.
std::vector<glyph> glyphs_of(std::string_view text) {
  std::vector<glyph> all;
  while (!text.empty()) {
    auto const [point, length] = code_point(text);
    all.push_back({text.substr(0, length), columns_of(point)});
    text.remove_prefix(length);
  }
  return all;
}

std::size_t width_of(std::string_view text) {
  std::size_t sum = 0;
  for (auto const& one : glyphs_of(text)) sum += one.columns;
  return sum;
}

std::string cut_at_the_end(std::string_view text, std::size_t columns) {
  std::string cut;
  for (auto const& one : glyphs_of(text)) {
    if (one.columns > columns) break;
    columns -= one.columns;
    cut += one.bytes;
  }
  return cut;
}

// What a text is short of a width.
std::string blanks(std::string_view text, std::size_t width) {
  std::size_t const own = width_of(text);
  return std::string(width > own ? width - own : 0, ' ');
}

// --------------------------------------------------------------------------- the columns

// In the first one in which it is less than 1000: `12.3 k`.
std::string in_units(double number, std::array<char const*, 5> const& units) {
  std::size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < units.size(); ++unit) number /= 1000;
  return fmt::format("{:.{}f} {}", number, unit == 0 || number >= 99.95 ? 0 : 1, units[unit]);
}

std::string readable_bytes(std::uint64_t bytes) {
  return in_units(static_cast<double>(bytes), {"B", "KB", "MB", "GB", "TB"});
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string decimal(std::size_t number) { return std::to_string(number); }

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

template <auto member, auto say>
std::string if_known(surveyed_key const& one) {
  return one.*member ? say(*(one.*member)) : std::string();
}

struct known_column {
  char const* head;
  std::string (*cell)(surveyed_key const& one);  // empty: not known
};

// The last ones go first when there is no room.
constexpr known_column all_columns[]{
    {"RATE/S", [](surveyed_key const& one) { return readable(one.rate); }},
    {"BOUNDS", bounds_of},
    {"SHARE", if_known<&surveyed_key::share, percent>},
    {"READS/S", if_known<&surveyed_key::reads, readable>},
    {"WRITES/S", if_known<&surveyed_key::writes, readable>},
    {"SIZE", if_known<&surveyed_key::bytes, readable_bytes>},
    {"KEPT", kept_of},
    {"SEEN IN", if_known<&surveyed_key::processes, decimal>},
};

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

// ------------------------------------------------------------------------- the live screen

std::string_view name_of(survey_source source) {
  return std::ranges::find(survey_sources, source, &named_source::second)->first;
}

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
  std::size_t const room = columns - std::min(columns, width_of(rest));
  auto const store = cut_in_the_middle(printable(now.store), std::max(room, std::size_t{8}));
  return cut_at_the_end(store + rest, columns);
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

std::string readable(double number) {
  if (number == 0) return "0";
  if (number < 0.05) return "<0.1";
  if (number < 9.95) return fmt::format("{:.1f}", number);
  if (number < 999.5) return fmt::format("{:.0f}", number);
  return in_units(number, {"", "k", "M", "G", "T"});
}

std::string cut_in_the_middle(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t const left = columns - 1;  // beside the `…`
  std::size_t room = left / 2;
  std::string behind;
  auto const all = glyphs_of(text);
  for (auto one = all.rbegin(); one != all.rend() && one->columns <= room; ++one) {
    room -= one->columns;
    behind.insert(0, one->bytes);
  }
  return cut_at_the_end(text, left - left / 2) + "…" + behind;
}

std::vector<std::string> hot_table(survey const& seen, std::size_t width) {
  filled_column keys{"KEY"};
  for (auto const& one : seen.keys) keys.push_back(shown_key(one));
  std::size_t const longest = widest(keys);
  std::size_t const least = std::min(longest, std::size_t{16});  // is enough for a key
  auto columns = filled_columns(seen);
  std::size_t taken = 0;
  for (auto const& one : columns) taken += 2 + widest(one);
  for (; columns.size() > 1 && taken + least > width; columns.pop_back()) {
    taken -= 2 + widest(columns.back());
  }
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
  if (source == survey_source::clients) {
    return {"no process reports a key that is read often",
            "a cache reports a key from a hundredth of its hot.fleet_threshold a second on;",
            "of a Redis, --source lfu and --source monitor ask what all clients use"};
  }
  if (source == survey_source::lfu) {
    return {"there is no such key in the store; --prefix takes only keys that begin so"};
  }
  return {source == survey_source::monitor
              ? "no command with a key came in meanwhile; --for 30s listens for longer, and"
              : "the server has counted no key; --for 30s counts for longer, and",
          "--source clients sees what caches answer without asking the server"};
}

json hot_json(survey const& seen, survey_source source) {
  auto const or_null = [](auto const& known) { return known ? json(*known) : json(); };
  json list = json::array();
  for (auto const& one : seen.keys) {
    json told{{"key", one.key}};
    if (auto text = escaped(one.key); text != one.key) told["key_escaped"] = std::move(text);
    if (one.cut) told["key_cut"] = true;
    told["rate"] = one.rate;
    told["low"] = one.low;
    told["high"] = one.high > 0 ? json(one.high) : json();
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
  std::string key = shown_key(one);
  if (key.empty()) key = "\"\"";
  // A blank would make two words of it.
  for (auto at = key.find(' '); at != key.npos; at = key.find(' ')) key.replace(at, 1, "\\x20");
  return fmt::format("{:.3f} {} {:.1f} {:.1f} {}", static_cast<double>(elapsed.count()) / 1000, key,
                     one.rate, one.low, one.high > 0 ? fmt::format("{:.1f}", one.high) : "-");
}

std::vector<std::string> hot_screen_lines(hot_view const& now, screen_size size) {
  auto lines = remarks_of(now, size);
  lines.insert(lines.begin(), header_of(now, size.columns));
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
