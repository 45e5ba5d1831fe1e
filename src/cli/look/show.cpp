#include "look/show.hpp"

#include <fmt/format.h>

#include <herdlock/lock.hpp>
#include <nlohmann/json.hpp>

#include "common/duration.hpp"
#include "common/exit_code.hpp"

namespace herdlock::cli {
namespace {

using json = nlohmann::ordered_json;

json as_json(resource const& name, std::optional<lease_info> const& seen) {
  json one{{"resource", name.str()}, {"held", seen.has_value()}};
  if (!seen) return one;
  one["holder"] = seen->holder;
  one["fencing"] = seen->fencing.value;
  if (seen->remaining > milliseconds{0}) {
    one["remaining_ms"] = seen->remaining.count();
  } else {
    one["remaining_ms"] = nullptr;
  }
  one["waiting"] = seen->waiting;
  one["waiters"] = seen->waiters;
  return one;
}

std::string as_text(resource const& name, std::optional<lease_info> const& seen) {
  if (!seen) return fmt::format("{}: free\n", in_quotes(name.str()));
  std::string text = fmt::format("{}: held by {}", in_quotes(name.str()), seen->holder);
  if (seen->fencing.value != 0) text += fmt::format(", fencing token {}", seen->fencing.value);
  if (seen->remaining > milliseconds{0}) {
    text += fmt::format(", for at most {} more unless renewed", say(seen->remaining));
  }
  text += seen->waiting == 0 ? "\n" : fmt::format(", {} waiting\n", seen->waiting);
  for (std::size_t i = 0; i < seen->waiters.size(); ++i) {
    text += fmt::format("  {:3}. {}\n", i + 1, seen->waiters[i]);
  }
  return text;
}

// Labels may hold any byte.
std::string dumped(json const& what) {
  return what.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
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
               before ? before->holder : "whoever held it");
  } else {
    fmt::print("{}: nobody held it\n", in_quotes(name.str()));
  }
  return static_cast<int>(taken ? exit_code::success : exit_code::not_held);
}

}  // namespace herdlock::cli
