#include "hot/rule_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <herdlock/hot_rules.hpp>
#include <herdlock/open.hpp>
#include <herdlock/url.hpp>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "common/json_text.hpp"
#include "terminal/notice.hpp"
#include "terminal/usage_line.hpp"
#include "hot/rule_table.hpp"
#include "hot/rule_times.hpp"

namespace herdlock::cli {
namespace {

constexpr std::chrono::hours longest_rule{24 * 3660};

constexpr char const* add_footer = R"(
Rules are kept in the store, for the caches (cache<T>) with the prefix of --cache
that were made with rules = on (cache_options::rules). Those that run obey within
moments. Behind the rule it says how many processes listen for it now, where the
store can tell (Redis, Valkey): who was never called yet does not.

  (nothing)  pin: KEY is kept in each process, read often or not. One key is so
             from ten seconds before its time, so that it can be loaded by then.
  --deny     KEY is never kept in a process, however often it is read. It wins
             over all others.
  --keep     For entries that other programs write: while KEY is hot, its time
             to live in the store is lengthened, at most --at-most beyond the
             expiry that was seen first. It is never shortened.

A TIME is 2026-12-01T12:00, of this machine's zone, or with Z or +01:00 behind
it. A rule without --from holds at once, one without --until and --for until it
is removed. A rule for the same KEY that does the same is replaced, and told.
--json prints {added, replaced, listeners}, the first two as list does, replaced
null for none; listeners null where the store cannot tell.

Examples:
  herdlock hot add sale --cache product: --from 2026-12-01T12:00 --for 2h
  herdlock hot add user: --begins --deny --cache product:

Exit status:
  0    the rule is there
  64   usage: a bad option or URL, a store that keeps no rules
  69   the store is unavailable, may not be asked, or others change the rules
       again and again
  70   done, but standard output cannot be written)";

constexpr char const* remove_footer = R"(
Takes the rules for KEY away: those for that one key, or with --begins those for
all keys that begin so. With --pin, --deny or --keep only such ones.
--json prints a list of what was removed, as list does.

Exit status:
  0    removed      1    there was none
  64   usage: a bad option or URL, a store that keeps no rules
  69   the store is unavailable, may not be asked, or others change the rules
       again and again
  70   done, but standard output cannot be written)";

constexpr char const* list_footer = R"(
A line for each rule: what it does, its key, for which keys it is (exact: that
one; begins: all that begin so), from when, until when, and whether it is in
force now, by this machine's clock. Rules that are over stay until somebody
removes them.

--json prints a list of {action, key, match, from, until, in_force}, and of keep
keep_at_most_ms. Times are of UTC, null for none. A key with bytes that are no
text, or a backslash, has key_escaped, too: printf %b of Bash gives its bytes
back, as remove takes them.

Exit status:
  0    also when there is none
  64   usage: a bad option or URL, a store that keeps no rules
  69   the store is unavailable, or may not be asked)";

std::string key_of(rule_arguments const& given) {
  if (given.key.empty() && !given.begins) {
    throw command_error(exit_code::usage,
                        "KEY must not be empty; with --begins it is for all keys");
  }
  return given.key;
}

// Nothing: any.
std::optional<hot_rule::action> action_of(rule_arguments const& given) {
  if (given.deny) return hot_rule::action::deny;
  if (given.keep) return hot_rule::action::keep;
  return given.pin ? std::optional(hot_rule::action::pin) : std::nullopt;
}

hot_rule::match match_of(rule_arguments const& given) {
  return given.begins ? hot_rule::match::prefix : hot_rule::match::exact;
}

void take_times(rule_arguments const& given, hot_rule& into) {
  auto const now = std::chrono::floor<milliseconds>(hot_rule::time::clock::now());
  if (!given.from.empty()) into.from = time_argument("--from", given.from);
  if (!given.until.empty()) into.until = time_argument("--until", given.until);
  if (!given.lasts.empty()) {
    auto const lasts = duration_between("--for", given.lasts, milliseconds{1}, longest_rule);
    auto const from = into.from.value_or(now);
    if (from > hot_rule::time::max() - lasts) {
      throw command_error(exit_code::usage, "--for " + in_quotes(given.lasts) +
                                                ": ends behind the year 2262, the last one here");
    }
    into.until = from + lasts;
  }
  if (into.until && into.from && *into.until <= *into.from) {
    throw command_error(exit_code::usage, "--until " + in_quotes(given.until) +
                                              ": must be behind --from " + in_quotes(given.from));
  }
  if (into.until && *into.until <= now) {
    throw command_error(exit_code::usage, fmt::format("the rule would be over already, since {}",
                                                      local_text(*into.until)));
  }
}

hot_rule rule_of(rule_arguments const& given) {
  hot_rule made{.does = action_of(given).value_or(hot_rule::action::pin),
                .by = match_of(given),
                .key = key_of(given)};
  take_times(given, made);
  if (given.keep && made.key.size() >= hot_rules::most_key_bytes) {
    throw command_error(exit_code::usage, "--keep: the key must have less than 256 bytes");
  }
  if (!given.at_most.empty()) {
    if (!given.keep) {
      throw command_error(exit_code::usage, "--at-most is for --keep");
    }
    made.keep_at_most =
        duration_between("--at-most", given.at_most, hot_rule::least_keep, hot_rule::most_keep);
  }
  return made;
}

store_url url_of_rules(std::string const& text) {
  auto url = value_or_raise(store_url::parse(text));
  if (url.scheme == "memory") {
    throw command_error(exit_code::usage,
                        "memory: lives in one process; there is nothing to see from another "
                        "(redis://…)");
  }
  return url;
}

store store_of_rules(store_arguments const& given) {
  auto const text = store_url_of(given);
  url_of_rules(text);
  return value_or_raise(try_open_store(text));
}

// Who only reads makes no file.
hot_rules rules_in(store_arguments const& given, std::string const& prefix) {
  auto const url = url_of_rules(store_url_of(given));
  std::error_code ignored;
  if (url.scheme == "sqlite" && !url.path.empty() && !std::filesystem::exists(url.path, ignored)) {
    notice(url.path + " does not exist: nobody has used this store yet");
    return {};
  }
  return read_hot_rules(store_of_rules(given), prefix);
}

// Of the same keys, doing the same.
bool replaces(hot_rule const& one, hot_rule const& other) {
  return one.key == other.key && one.by == other.by && one.does == other.does;
}

/// Who obeys. The rule is there, whatever can be told of that.
struct told_listeners {
  std::optional<std::uint64_t> count{};
  std::string unknown{};  ///< why, when there is no count
};

told_listeners listeners_of(store const& in, std::string const& prefix) {
  try {
    if (auto const known = count_rule_listeners(in, prefix)) return {.count = *known};
    return {.unknown = "the store cannot tell"};
  } catch (herdlock::error const& why) {
    return {.unknown = why.what()};
  }
}

std::string listeners_line(told_listeners const& known) {
  if (!known.count) {
    return "processes that listen: not known, " + known.unknown +
           "; caches with rules = on obey it (cache_options::rules)";
  }
  if (*known.count == 0) {
    return "processes that listen: none; a cache does once it is called, if it was made with "
           "rules = on (cache_options::rules)";
  }
  return fmt::format("processes that listen: {}", *known.count);
}

int add_rule(store_arguments const& where, rule_arguments const& given) {
  auto const added = rule_of(given);
  auto const in = store_of_rules(where);
  std::optional<hot_rule> before;
  change_hot_rules(in, given.cache, [&](std::vector<hot_rule>& all) {
    auto const same = [&](hot_rule const& one) { return replaces(added, one); };
    auto const at = std::find_if(all.begin(), all.end(), same);
    before = at == all.end() ? std::nullopt : std::optional(*at);
    all.erase(std::remove_if(at, all.end(), same), all.end());
    all.push_back(added);
  });
  auto const listening = listeners_of(in, given.cache);
  if (given.json) {
    auto const now = hot_rule::time::clock::now();
    nlohmann::ordered_json told{
        {"added", rule_json(added, now)}, {"replaced", nullptr}, {"listeners", nullptr}};
    if (before) told["replaced"] = rule_json(*before, now);
    if (listening.count) told["listeners"] = *listening.count;
    fmt::print("{}\n", json_text(told, json_form::indented));
    return 0;
  }
  if (before) fmt::print("replaced: {}\n", rule_line(*before));
  fmt::print("added: {}\n{}\n", rule_line(added), listeners_line(listening));
  return 0;
}

std::string of_cache(std::string const& prefix) {
  return prefix.empty() ? "caches without a prefix" : "caches with the prefix " + in_quotes(prefix);
}

int remove_rules(store_arguments const& where, rule_arguments const& given) {
  hot_rule const named{.by = match_of(given), .key = key_of(given)};
  auto const does = action_of(given);
  auto const is_meant = [&](hot_rule const& one) {
    return one.key == named.key && one.by == named.by && (!does || one.does == *does);
  };
  std::vector<hot_rule> removed;
  change_hot_rules(store_of_rules(where), given.cache, [&](std::vector<hot_rule>& all) {
    removed.clear();
    std::copy_if(all.begin(), all.end(), std::back_inserter(removed), is_meant);
    all.erase(std::remove_if(all.begin(), all.end(), is_meant), all.end());
  });
  int const status = static_cast<int>(removed.empty() ? exit_code::no_rule : exit_code::success);
  if (given.json) {
    auto const now = hot_rule::time::clock::now();
    fmt::print("{}\n", json_text(rules_json(removed, now), json_form::indented));
    return status;
  }
  for (auto const& one : removed) fmt::print("removed: {}\n", rule_line(one));
  if (!removed.empty()) return status;
  fmt::print("there is no such rule for {}{}, of {}\n", given.begins ? "keys that begin with " : "",
             in_quotes(named.key), of_cache(given.cache));
  return status;
}

int list_rules(store_arguments const& where, rule_arguments const& given) {
  auto const found = rules_in(where, given.cache);
  auto const now = hot_rule::time::clock::now();
  if (given.json) {
    fmt::print("{}\n", json_text(rules_json(found.rules, now), json_form::indented));
  } else if (found.rules.empty()) {
    fmt::print("there are no rules for {}\n", of_cache(given.cache));
  } else {
    for (auto const& line : rule_table(found.rules, now)) fmt::print("{}\n", line);
  }
  return 0;
}

CLI::App* add_below(CLI::App& hot, store_arguments& where, rule_arguments& given,
                    std::string const& name, char const* about) {
  CLI::App* const made = hot.add_subcommand(name, about);
  add_store_options(*made, where);
  made->add_option("--cache", given.cache,
                   "The prefix of the caches (cache_options::prefix); '' for none")
      ->type_name("PREFIX")
      ->required();
  made->add_flag("--json", given.json, "For programs");
  return made;
}

void take_key_and_kind(CLI::App& command, rule_arguments& given, char const* about_begins) {
  command.add_option("KEY", given.key, "Without the prefix of the cache")->required();
  command.add_flag("--begins", given.begins, about_begins);
  auto* const pin = command.add_flag("--pin", given.pin, "A pin: it is kept in each process");
  auto* const deny = command.add_flag("--deny", given.deny, "Never to be kept in a process");
  auto* const keep =
      command.add_flag("--keep", given.keep, "Its entry lives longer in the store while it is hot");
  deny->excludes(pin);
  keep->excludes(pin)->excludes(deny);
}

void take_times_and_bound(CLI::App& command, rule_arguments& given) {
  command.add_option("--from", given.from, "When it begins to hold")->type_name("TIME");
  auto* const until =
      command.add_option("--until", given.until, "When it ends to hold")->type_name("TIME");
  command.add_option("--for", given.lasts, "How long it holds: 30m, 2h, up to ten years")
      ->type_name("TIME")
      ->excludes(until);
  command
      .add_option("--at-most", given.at_most,
                  fmt::format("Of --keep: so much beyond the first expiry seen (default: {})",
                              say_exactly(hot_rule().keep_at_most)))
      ->type_name("TIME");
}

}  // namespace

std::vector<runnable> add_rule_commands(CLI::App& hot, store_arguments& where,
                                        rule_arguments& arguments) {
  auto& given = arguments;
  CLI::App* const adding =
      add_below(hot, where, given, "add", "Say in advance which keys are hot, and which never");
  usage_line::set(*adding, "herdlock hot add KEY --cache PREFIX [OPTIONS]");
  take_key_and_kind(*adding, given, "For all keys that begin with KEY");
  take_times_and_bound(*adding, given);
  adding->footer(add_footer);

  CLI::App* const removing = add_below(hot, where, given, "remove", "Take a rule away");
  usage_line::set(*removing, "herdlock hot remove KEY --cache PREFIX [OPTIONS]");
  take_key_and_kind(*removing, given, "The rule for all keys that begin with KEY");
  removing->footer(remove_footer);

  CLI::App* const listing = add_below(hot, where, given, "list", "Tell which rules there are");
  usage_line::set(*listing, "herdlock hot list --cache PREFIX [OPTIONS]");
  listing->footer(list_footer);

  return {{adding, [&where, &given] { return add_rule(where, given); }},
          {removing, [&where, &given] { return remove_rules(where, given); }},
          {listing, [&where, &given] { return list_rules(where, given); }}};
}

}  // namespace herdlock::cli
