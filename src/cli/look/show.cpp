#include "look/show.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <ctime>
#include <herdlock/lock.hpp>
#include <herdlock/printable.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "common/json_text.hpp"
#include "common/text_table.hpp"
#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

using sighting = std::pair<resource, lease_info>;
using json = nlohmann::ordered_json;

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

std::vector<std::string> row_of(sighting const& one) {
  auto const& [name, seen] = one;
  return {in_quotes(name.str()),
          printable(seen.holder) + (seen.done ? " (done)" : ""),
          or_dash(seen.held_for),
          or_dash(remaining(seen)),
          seen.fencing.value == 0 ? "-" : std::to_string(seen.fencing.value),
          std::to_string(seen.waiting)};
}

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
  std::vector<std::vector<std::string>> rows{
      {"RESOURCE", "HOLDER", "HELD FOR", "REMAINING", "FENCING", "WAITING"}};
  for (auto const& one : all) rows.push_back(row_of(one));
  return fmt::format("{}\n", fmt::join(text_table(rows), "\n"));
}

struct known_names {
  std::set<std::string> in_order;
  bool complete = true;
};

known_names all_names(store const& where) {
  known_names known;
  list_request next{.limit = limits::max_page};
  do {
    auto page = where.list(next);
    for (auto const& name : page.names) known.in_order.insert(name.str());
    known.complete = page.cursor.empty();
    next.cursor = std::move(page.cursor);
  } while (!known.complete && known.in_order.size() < most_names);
  return known;
}

void print(std::vector<sighting> const& seen, output_form form) {
  if (form == output_form::text) {
    return seen.empty() ? fmt::print("nothing is held\n") : fmt::print("{}", as_table(seen));
  }
  json list = json::array();
  for (auto const& [name, info] : seen) list.push_back(as_json(name, info));
  print_json(list);
}

}  // namespace

int show(store const& where, std::vector<resource> const& names, output_form form) {
  json list = json::array();
  for (auto const& name : names) {
    auto const seen = lock(where, name).inspect();
    if (form == output_form::json) {
      list.push_back(as_json(name, seen));
    } else {
      fmt::print("{}", as_text(name, seen));
    }
  }
  if (form == output_form::json) print_json(list);
  return 0;
}

int show_held(store const& where, std::size_t limit, output_form form) {
  auto const known = all_names(where);
  std::vector<sighting> seen;
  auto name = known.in_order.begin();
  for (; name != known.in_order.end() && seen.size() < limit; ++name) {
    // It may have been given back meanwhile.
    resource const of(*name);
    if (auto info = lock(where, of).inspect()) seen.emplace_back(of, *std::move(info));
  }
  print(seen, form);
  if (!known.complete) {
    fmt::print(stderr, "herdlock: more than {} are held; these are some of them\n", most_names);
  } else if (name != known.in_order.end()) {
    fmt::print(stderr, "herdlock: {} more are held; --limit shows more\n",
               std::distance(name, known.in_order.end()));
  }
  return 0;
}

int take_away(store const& where, resource const& name, output_form form) {
  lock const at(where, name);
  auto const before = at.inspect();
  bool const taken = at.force_release();
  if (form == output_form::json) {
    json told{{"resource", name.str()}, {"released", taken}};
    if (taken && before) told["holder"] = before->holder;
    print_json(told);
  } else if (taken) {
    fmt::print("{}: taken from {}\n", in_quotes(name.str()),
               before ? printable(before->holder) : "whoever held it");
  } else {
    fmt::print("{}: nobody held it\n", in_quotes(name.str()));
  }
  return static_cast<int>(taken ? exit_code::success : exit_code::not_held);
}

}  // namespace herdlock::cli
