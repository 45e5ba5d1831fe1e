#include "look/show.hpp"

#include <fmt/format.h>

#include <herdlock/lock.hpp>
#include <herdlock/printable.hpp>
#include <set>

#include "terminal/exit_code.hpp"
#include "look/show_format.hpp"

namespace herdlock::cli {
namespace {

using json = nlohmann::ordered_json;

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
  fmt::print("{}", dumped(list));
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
  if (form == output_form::json) fmt::print("{}", dumped(list));
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
    fmt::print("{}", dumped(told));
  } else if (taken) {
    fmt::print("{}: taken from {}\n", in_quotes(name.str()),
               before ? printable(before->holder) : "whoever held it");
  } else {
    fmt::print("{}: nobody held it\n", in_quotes(name.str()));
  }
  return static_cast<int>(taken ? exit_code::success : exit_code::not_held);
}

}  // namespace herdlock::cli
