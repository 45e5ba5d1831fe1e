#include "hot/rule_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <herdlock/error.hpp>
#include <herdlock/printable.hpp>
#include <optional>
#include <tuple>

#include "common/text_table.hpp"
#include "hot/rule_times.hpp"
#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

std::string_view match_text(hot_rule::match by) {
  return by == hot_rule::match::exact ? "exact" : "begins";
}

std::string_view in_force(hot_rule const& one, hot_rule::time now) {
  if (one.until && *one.until <= now) return "over";
  return one.from && *one.from > now ? "not yet" : "yes";
}

std::string time_or_dash(std::optional<hot_rule::time> const& when) {
  return when ? local_text(*when) : "-";
}

nlohmann::ordered_json time_or_null(std::optional<hot_rule::time> const& when) {
  return when ? nlohmann::ordered_json(utc_text(*when)) : nlohmann::ordered_json(nullptr);
}

// `keep 5 min`, as far as it is said.
std::string action_text(hot_rule const& one) {
  std::string text(name_of(one.does));
  if (one.does == hot_rule::action::keep) text += " " + say_exactly(one.keep_at_most);
  return text;
}

// The whole of it: rules are told apart by their keys, and removed by them.
std::string whole(std::string const& key) { return "'" + escaped(key) + "'"; }

std::vector<std::string> row_of(hot_rule const& one, hot_rule::time now) {
  return {action_text(one),       whole(one.key),          std::string(match_text(one.by)),
          time_or_dash(one.from), time_or_dash(one.until), std::string(in_force(one, now))};
}

void sort_by_key(std::vector<hot_rule>& rules) {
  std::stable_sort(rules.begin(), rules.end(), [](hot_rule const& a, hot_rule const& b) {
    return std::tie(a.key, a.by, a.does) < std::tie(b.key, b.by, b.does);
  });
}

}  // namespace

std::string_view name_of(hot_rule::action does) {
  if (does == hot_rule::action::pin) return "pin";
  return does == hot_rule::action::deny ? "deny" : "keep";
}

std::string times_of(hot_rule const& one) {
  std::string text;
  if (one.from) text += " from " + local_text(*one.from);
  if (one.until) text += " until " + local_text(*one.until);
  return text.empty() ? text : "," + text;
}

std::string rule_line(hot_rule const& one) {
  return fmt::format("{} {}{}{}", action_text(one),
                     one.by == hot_rule::match::prefix ? "all keys that begin with " : "",
                     in_quotes(one.key), times_of(one));
}

std::vector<std::string> rule_table(std::vector<hot_rule> rules, hot_rule::time now) {
  sort_by_key(rules);
  std::vector<std::vector<std::string>> rows{
      {"ACTION", "KEY", "MATCH", "FROM", "UNTIL", "IN FORCE"}};
  for (auto const& one : rules) rows.push_back(row_of(one, now));
  return text_table(rows);
}

nlohmann::ordered_json rule_json(hot_rule const& one, hot_rule::time now) {
  nlohmann::ordered_json told{{"action", name_of(one.does)}, {"key", one.key}};
  if (auto text = escaped(one.key); text != one.key) told["key_escaped"] = std::move(text);
  told["match"] = match_text(one.by);
  told["from"] = time_or_null(one.from);
  told["until"] = time_or_null(one.until);
  told["in_force"] = in_force(one, now) == "yes";
  if (one.does == hot_rule::action::keep) told["keep_at_most_ms"] = one.keep_at_most.count();
  return told;
}

nlohmann::ordered_json rules_json(std::vector<hot_rule> rules, hot_rule::time now) {
  sort_by_key(rules);
  auto list = nlohmann::ordered_json::array();
  for (auto const& one : rules) list.push_back(rule_json(one, now));
  return list;
}

}  // namespace herdlock::cli
