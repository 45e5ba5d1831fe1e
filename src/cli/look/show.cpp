#include <fmt/chrono.h>

#include <herdlock/lock.hpp>
#include <herdlock/printable.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "common/text_table.hpp"
#include "look/look.hpp"
#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

using sighting = std::pair<resource, lease_info>;
using json = nlohmann::ordered_json;

std::optional<milliseconds> remaining(lease_info const& seen) {
  return seen.remaining > milliseconds{0} ? std::optional(seen.remaining) : std::nullopt;
}

// The local time so long ago.
std::string local_time(milliseconds ago) {
  auto const then = std::chrono::system_clock::now() - ago;
  std::time_t const seconds = std::chrono::system_clock::to_time_t(then);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

json as_json(resource const& name, std::optional<lease_info> const& seen) {
  json one{{"resource", name.str()}, {"held", seen.has_value()}};
  if (!seen) return one;
  auto const in_ms = [](std::optional<milliseconds> time) {
    return time ? json(time->count()) : json();
  };
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
  std::string text = fmt::format("{}: {} by {}", in_quotes(name.str()),
                                 seen->done ? "done" : "held", printable(seen->holder));
  if (seen->done) {
    text += " at " + local_time(*seen->done);
  } else if (seen->held_for) {
    text += " for " + say(*seen->held_for);
  }
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
  auto const or_dash = [](std::optional<milliseconds> time) { return time ? say(*time) : "-"; };
  std::vector<std::vector<std::string>> rows{
      {"RESOURCE", "HOLDER", "HELD FOR", "REMAINING", "FENCING", "WAITING"}};
  for (auto const& [name, seen] : all) {
    rows.push_back({in_quotes(name.str()), printable(seen.holder) + (seen.done ? " (done)" : ""),
                    or_dash(seen.held_for), or_dash(remaining(seen)),
                    seen.fencing.value == 0 ? "-" : std::to_string(seen.fencing.value),
                    std::to_string(seen.waiting)});
  }
  return fmt::format("{}\n", fmt::join(text_table(rows), "\n"));
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
  std::set<std::string> in_order;
  list_request next{.limit = limits::max_page};
  do {
    auto page = where.list(next);
    for (auto const& name : page.names) in_order.insert(name.str());
    next.cursor = std::move(page.cursor);
  } while (!next.cursor.empty() && in_order.size() < most_names);
  std::vector<sighting> seen;
  auto name = in_order.begin();
  for (; name != in_order.end() && seen.size() < limit; ++name) {
    // It may have been given back meanwhile.
    resource const of(*name);
    if (auto info = lock(where, of).inspect()) seen.emplace_back(of, *std::move(info));
  }
  if (form == output_form::json) {
    json list = json::array();
    for (auto const& [of, info] : seen) list.push_back(as_json(of, info));
    print_json(list);
  } else {
    fmt::print("{}", seen.empty() ? "nothing is held\n" : as_table(seen));
  }
  if (!next.cursor.empty()) {
    fmt::print(stderr, "herdlock: more than {} are held; these are some of them\n", most_names);
  } else if (name != in_order.end()) {
    fmt::print(stderr, "herdlock: {} more are held; --limit shows more\n",
               std::distance(name, in_order.end()));
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
