// How `herdlock hot list` tells of rules: pure, but for the zone of the machine.
#pragma once

#include <herdlock/hot_rules.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace herdlock::cli {

/// `pin`, `deny` or `keep`.
std::string_view name_of(hot_rule::action does);

/// `pin 'sale', from 2026-12-01T12:00:00+01:00 until 2026-12-01T14:00:00+01:00`.
std::string rule_line(hot_rule const& one);

/// `, from … until …`: what is said of its times; empty without any.
std::string times_of(hot_rule const& one);

/// A head and a line for each rule, by key.
std::vector<std::string> rule_table(std::vector<hot_rule> rules, hot_rule::time now);

nlohmann::ordered_json rule_json(hot_rule const& one, hot_rule::time now);
/// A list of them, in the same order as the table.
nlohmann::ordered_json rules_json(std::vector<hot_rule> rules, hot_rule::time now);

}  // namespace herdlock::cli
