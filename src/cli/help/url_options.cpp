#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "common/json_text.hpp"
#include "stores/common/url_options.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

using json = nlohmann::ordered_json;
using stores::scheme_options;

constexpr char const* options_footer = R"(
A value stands behind the path: redis://host?timeout=500ms&wait_replicas=1.
A duration has a unit (250ms, 2s, 5m, 1h, 7d) or is in milliseconds.
--json prints an array of {scheme, options}, options being an array of
{name, type, default, range, effect}.)";

std::string_view type_of(stores::option_kind kind) {
  constexpr std::string_view names[] = {"duration", "number", "choice", "text"};
  return names[static_cast<std::size_t>(kind)];
}

json as_json(scheme_options const& one) {
  json told{{"scheme", one.scheme}, {"options", json::array()}};
  for (auto const& each : one.all()) {
    told["options"].push_back({{"name", each.name},
                               {"type", type_of(each.kind)},
                               {"default", each.fallback},
                               {"range", each.range},
                               {"effect", each.effect}});
  }
  return told;
}

void print_text(scheme_options const& one) {
  fmt::print("{}:\n", one.scheme);
  for (auto const& each : one.all()) {
    fmt::print("  {:<17} {}; {}", each.name, type_of(each.kind), each.effect);
    if (!each.range.empty()) fmt::print(" ({})", each.range);
    if (!each.fallback.empty()) fmt::print(". Default: {}", each.fallback);
    fmt::print("\n");
  }
}

std::vector<scheme_options> chosen(std::string const& scheme) {
  auto all = stores::all_options();
  if (scheme.empty()) return all;
  auto const found = std::ranges::find(all, scheme, &scheme_options::scheme);
  if (found != all.end()) return {*found};
  std::vector<std::string_view> known;
  for (auto const& each : all) known.push_back(each.scheme);
  refuse("help options: the scheme '{}' is not known; there are {}", scheme,
         fmt::join(known, ", "));
}

struct url_options_arguments {
  std::string scheme;  // empty: all that are built
  bool json = false;
};

int print_url_options(url_options_arguments const& asked) {
  json told = json::array();
  for (auto const& one : chosen(asked.scheme)) {
    if (!asked.json) print_text(one);
    told.push_back(as_json(one));
  }
  if (asked.json) print_json(told);
  return 0;
}

}  // namespace

runnable add_url_options_command(CLI::App& help) {
  auto const given = std::make_shared<url_options_arguments>();
  CLI::App& made = add_command(help, "options", "The options of store URLs, by scheme",
                               "[SCHEME] [--json]", options_footer);
  made.add_option("scheme", given->scheme, "Of this scheme alone: redis, mysql, …")
      ->type_name("SCHEME");
  made.add_flag("--json", given->json, "For programs");
  return {&made, [given] { return print_url_options(*given); }};
}

}  // namespace herdlock::cli
