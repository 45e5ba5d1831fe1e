#include "hot/rule_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <herdlock/hot_rules.hpp>
#include <herdlock/open.hpp>
#include <herdlock/url.hpp>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/json_text.hpp"
#include "hot/rule_table.hpp"
#include "hot/rule_times.hpp"
#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/notice.hpp"

namespace herdlock::cli {
namespace {

constexpr std::chrono::hours longest_rule{24 * 3660};

constexpr char const* add_footer =
#include "hot/add_help.txt"
    ;

constexpr char const* remove_footer =
#include "hot/remove_help.txt"
    ;

constexpr char const* list_footer =
#include "hot/list_help.txt"
    ;

// As typed; one of the commands is given, so they share.
struct rule_arguments {
  std::string key;
  std::string cache;
  std::string from;
  std::string until;
  std::string lasts;  // --for
  std::string at_most;
  bool pin = false;
  bool deny = false;
  bool keep = false;
  bool begins = false;
  bool json = false;
};

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

store store_of_rules(store_arguments const& given) {
  return value_or_raise(try_open_store(shared_store_of(given).url));
}

// Who only reads makes no file.
hot_rules rules_in(store_arguments const& given, std::string const& prefix) {
  auto const text = shared_store_of(given).url;
  auto const url = value_or_raise(store_url::parse(text));
  std::error_code ignored;
  if (url.scheme == "sqlite" && !url.path.empty() && !std::filesystem::exists(url.path, ignored)) {
    notice(url.path + " does not exist: nobody has used this store yet");
    return {};
  }
  return read_hot_rules(value_or_raise(try_open_store(text)), prefix);
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
    print_json(told);
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
    print_json(rules_json(removed, now));
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
    print_json(rules_json(found.rules, now));
  } else if (found.rules.empty()) {
    fmt::print("there are no rules for {}\n", of_cache(given.cache));
  } else {
    for (auto const& line : rule_table(found.rules, now)) fmt::print("{}\n", line);
  }
  return 0;
}

CLI::App& add_below(CLI::App& hot, store_arguments& where, rule_arguments& given,
                    std::string const& name, char const* about, char const* usage,
                    char const* footer) {
  CLI::App& made = add_command(hot, name, about, usage, footer);
  add_store_options(made, where);
  made.add_option("--cache", given.cache,
                  "The prefix of the caches (cache_options::prefix); '' for none")
      ->type_name("PREFIX")
      ->required();
  made.add_flag("--json", given.json, "For programs");
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
  add_value(command, "--from", given.from, "TIME", "When it begins to hold");
  auto* const until = add_value(command, "--until", given.until, "TIME", "When it ends to hold");
  add_value(command, "--for", given.lasts, "TIME", "How long it holds: 30m, 2h, up to ten years")
      ->excludes(until);
  add_value(command, "--at-most", given.at_most, "TIME",
            fmt::format("Of --keep: so much beyond the first expiry seen (default: {})",
                        say_exactly(hot_rule().keep_at_most)));
}

}  // namespace

std::vector<runnable> add_rule_commands(CLI::App& hot, store_arguments& where) {
  auto const given = std::make_shared<rule_arguments>();
  CLI::App& adding =
      add_below(hot, where, *given, "add", "Say in advance which keys are hot, and which never",
                "KEY --cache PREFIX [OPTIONS]", add_footer);
  take_key_and_kind(adding, *given, "For all keys that begin with KEY");
  take_times_and_bound(adding, *given);
  CLI::App& removing = add_below(hot, where, *given, "remove", "Take a rule away",
                                 "KEY --cache PREFIX [OPTIONS]", remove_footer);
  take_key_and_kind(removing, *given, "The rule for all keys that begin with KEY");
  CLI::App& listing = add_below(hot, where, *given, "list", "Tell which rules there are",
                                "--cache PREFIX [OPTIONS]", list_footer);
  return {{&adding, [&where, given] { return add_rule(where, *given); }},
          {&removing, [&where, given] { return remove_rules(where, *given); }},
          {&listing, [&where, given] { return list_rules(where, *given); }}};
}

}  // namespace herdlock::cli
