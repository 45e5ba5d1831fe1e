#include "hot/rule_commands.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "common/json_text.hpp"
#include "common/text_table.hpp"
#include "hot/rule_times.hpp"
#include "terminal/duration.hpp"
#include "terminal/notice.hpp"

namespace herdlock::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr std::chrono::hours longest_rule{24 * 3660};

struct named_action {
  char const* option;
  hot_rule::action does;
  char const* about;
};

constexpr named_action actions[]{
    {"--pin", hot_rule::action::pin, "A pin: it is kept in each process"},
    {"--deny", hot_rule::action::deny, "Never to be kept in a process"},
    {"--keep", hot_rule::action::keep, "Its entry lives longer in the store while it is hot"}};

// -------------------------------------------------------------------------- how rules are told

// `pin`, `deny` or `keep`.
std::string_view name_of(hot_rule::action does) {
  return std::ranges::find(actions, does, &named_action::does)->option + 2;
}

std::string_view match_text(hot_rule::match by) {
  return by == hot_rule::match::exact ? "exact" : "begins";
}

std::string_view in_force(hot_rule const& one) {
  auto const now = hot_rule::time::clock::now();
  if (one.until && *one.until <= now) return "over";
  return one.from && *one.from > now ? "not yet" : "yes";
}

// `keep 5m`, as far as it is said.
std::string action_text(hot_rule const& one) {
  std::string text(name_of(one.does));
  if (one.does == hot_rule::action::keep) text += " " + duration_text(one.keep_at_most);
  return text;
}

// `pin 'sale', from 2026-12-01T12:00:00+01:00 until 2026-12-01T14:00:00+01:00`.
std::string rule_line(hot_rule const& one) {
  auto text = fmt::format("{} {}{}", action_text(one),
                          one.by == hot_rule::match::prefix ? "all keys that begin with " : "",
                          in_quotes(one.key));
  if (one.from || one.until) text += ",";
  if (one.from) text += " from " + local_text(*one.from);
  if (one.until) text += " until " + local_text(*one.until);
  return text;
}

json rule_json(hot_rule const& one) {
  auto const or_null = [](auto const& when) { return when ? json(utc_text(*when)) : json(); };
  json told{{"action", name_of(one.does)}, {"key", one.key}};
  if (auto text = escaped(one.key); text != one.key) told["key_escaped"] = std::move(text);
  told["match"] = match_text(one.by);
  told["from"] = or_null(one.from);
  told["until"] = or_null(one.until);
  told["in_force"] = in_force(one) == "yes";
  if (one.does == hot_rule::action::keep) told["keep_at_most_ms"] = one.keep_at_most.count();
  return told;
}

// What no two rules of a cache have in common.
auto identity_of(hot_rule const& one) { return std::tie(one.key, one.by, one.does); }

json rules_json(std::vector<hot_rule> rules) {
  std::ranges::stable_sort(rules, {}, identity_of);
  auto list = json::array();
  for (auto const& one : rules) list.push_back(rule_json(one));
  return list;
}

// In the same order. A key is told whole: rules are told apart by their keys, and removed by them.
std::vector<std::string> rule_table(std::vector<hot_rule> rules) {
  std::ranges::stable_sort(rules, {}, identity_of);
  auto const or_dash = [](auto const& when) { return when ? local_text(*when) : "-"; };
  std::vector<std::vector<std::string>> rows{
      {"ACTION", "KEY", "MATCH", "FROM", "UNTIL", "IN FORCE"}};
  for (auto const& one : rules) {
    rows.push_back({action_text(one), "'" + escaped(one.key) + "'", std::string(match_text(one.by)),
                    or_dash(one.from), or_dash(one.until), std::string(in_force(one))});
  }
  return text_table(rows);
}

std::string of_cache(std::string const& prefix) {
  return prefix.empty() ? "caches without a prefix" : "caches with the prefix " + in_quotes(prefix);
}

// -------------------------------------------------------------------------------- the commands

// As typed; one of the commands is given, so they share.
struct rule_arguments {
  std::string key;
  std::string cache;
  std::string from;
  std::string until;
  std::string lasts;  // --for
  std::string at_most;
  hot_rule::match by = hot_rule::match::exact;
  std::optional<hot_rule::action> does;
  bool json = false;
};

void require_key(rule_arguments const& given) {
  if (given.key.empty() && given.by == hot_rule::match::exact) {
    refuse("KEY must not be empty; with --begins it is for all keys");
  }
}

void take_times(rule_arguments const& given, hot_rule& into) {
  auto const now = std::chrono::floor<milliseconds>(hot_rule::time::clock::now());
  if (!given.from.empty()) into.from = time_argument("--from", given.from);
  if (!given.until.empty()) into.until = time_argument("--until", given.until);
  if (!given.lasts.empty()) {
    auto const lasts = duration_between("--for", given.lasts, milliseconds{1}, longest_rule);
    auto const from = into.from.value_or(now);
    if (from > hot_rule::time::max() - lasts) {
      refuse("--for {}: ends behind the year 2262, the last one here", in_quotes(given.lasts));
    }
    into.until = from + lasts;
  }
  if (into.until && into.from && *into.until <= *into.from) {
    refuse("--until {}: must be behind --from {}", in_quotes(given.until), in_quotes(given.from));
  }
  if (into.until && *into.until <= now) {
    refuse("the rule would be over already, since {}", local_text(*into.until));
  }
}

hot_rule rule_of(rule_arguments const& given) {
  require_key(given);
  hot_rule made{
      .does = given.does.value_or(hot_rule::action::pin), .by = given.by, .key = given.key};
  take_times(given, made);
  bool const keeps = made.does == hot_rule::action::keep;
  if (keeps && made.key.size() >= hot_rules::most_key_bytes) {
    refuse("--keep: the key must have less than 256 bytes");
  }
  if (given.at_most.empty()) return made;
  if (!keeps) refuse("--at-most is for --keep");
  made.keep_at_most =
      duration_between("--at-most", given.at_most, hot_rule::least_keep, hot_rule::most_keep);
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

// Who obeys, or why that is not known: the rule is there, whatever can be told of it.
result<std::uint64_t> listeners_of(store const& in, std::string const& prefix) {
  try {
    if (auto const known = count_rule_listeners(in, prefix)) return *known;
    return make_failure(errc::not_supported, "the store cannot tell");
  } catch (error const& why) {
    return failure{why.code(), why.what()};
  }
}

std::string listeners_text(result<std::uint64_t> const& known) {
  if (!known) {
    return fmt::format("not known, {}; caches with hot.rules = on obey it (cache_options::hot)",
                       known.error().message);
  }
  if (*known > 0) return std::to_string(*known);
  return "none; a cache does once it is called, if it was made with hot.rules = on "
         "(cache_options::hot)";
}

int add_rule(store_arguments const& where, rule_arguments const& given) {
  auto const added = rule_of(given);
  auto const in = store_of_rules(where);
  std::optional<hot_rule> before;
  change_hot_rules(in, given.cache, [&](std::vector<hot_rule>& all) {
    auto const same = [&](hot_rule const& one) { return identity_of(one) == identity_of(added); };
    auto const at = std::ranges::find_if(all, same);
    before = at == all.end() ? std::nullopt : std::optional(*at);
    std::erase_if(all, same);
    all.push_back(added);
  });
  auto const listening = listeners_of(in, given.cache);
  if (given.json) {
    print_json({{"added", rule_json(added)},
                {"replaced", before ? rule_json(*before) : json()},
                {"listeners", listening ? json(*listening) : json()}});
    return 0;
  }
  if (before) fmt::print("replaced: {}\n", rule_line(*before));
  fmt::print("added: {}\nprocesses that listen: {}\n", rule_line(added), listeners_text(listening));
  return 0;
}

int remove_rules(store_arguments const& where, rule_arguments const& given) {
  require_key(given);
  auto const is_meant = [&](hot_rule const& one) {
    return one.key == given.key && one.by == given.by && (!given.does || one.does == *given.does);
  };
  std::vector<hot_rule> removed;
  change_hot_rules(store_of_rules(where), given.cache, [&](std::vector<hot_rule>& all) {
    removed.clear();
    std::ranges::copy_if(all, std::back_inserter(removed), is_meant);
    std::erase_if(all, is_meant);
  });
  if (given.json) {
    print_json(rules_json(removed));
  } else if (removed.empty()) {
    fmt::print("there is no such rule for {}{}, of {}\n",
               given.by == hot_rule::match::prefix ? "keys that begin with " : "",
               in_quotes(given.key), of_cache(given.cache));
  } else {
    for (auto const& one : removed) fmt::print("removed: {}\n", rule_line(one));
  }
  return static_cast<int>(removed.empty() ? exit_code::no_rule : exit_code::success);
}

int list_rules(store_arguments const& where, rule_arguments const& given) {
  auto const rules = rules_in(where, given.cache).rules;
  if (given.json) {
    print_json(rules_json(rules));
  } else if (rules.empty()) {
    fmt::print("there are no rules for {}\n", of_cache(given.cache));
  } else {
    fmt::print("{}\n", fmt::join(rule_table(rules), "\n"));
  }
  return 0;
}

void take_key_and_kind(CLI::App& command, rule_arguments& given, char const* about_begins) {
  command.add_option("KEY", given.key, "Without the prefix of the cache")->required();
  auto const begins = [&given] { given.by = hot_rule::match::prefix; };
  command.add_flag_callback("--begins", begins, about_begins);
  std::vector<CLI::Option*> kinds;
  for (auto const& each : actions) {
    auto const chosen = [&given, does = each.does] { given.does = does; };
    auto* const kind = command.add_flag_callback(each.option, chosen, each.about);
    for (auto* const other : kinds) kind->excludes(other);
    kinds.push_back(kind);
  }
}

}  // namespace

std::vector<runnable> add_rule_commands(CLI::App& hot, store_arguments& where) {
  auto const given = std::make_shared<rule_arguments>();
  auto const add = [&](char const* name, char const* about, char const* usage,
                       char const* footer) -> CLI::App& {
    CLI::App& made = add_command(hot, name, about, usage, footer);
    add_store_options(made, where);
    made.add_option("--cache", given->cache,
                    "The prefix of the caches (cache_options::prefix); '' for none")
        ->type_name("PREFIX")
        ->required();
    made.add_flag("--json", given->json, "For programs");
    return made;
  };
  CLI::App& adding = add(
      "add", "Say in advance which keys are hot, and which never", "KEY --cache PREFIX [OPTIONS]",
#include "hot/add_help.txt"
  );
  take_key_and_kind(adding, *given, "For all keys that begin with KEY");
  add_value(adding, "--from", given->from, "TIME", "When it begins to hold");
  auto* const until = add_value(adding, "--until", given->until, "TIME", "When it ends to hold");
  add_value(adding, "--for", given->lasts, "TIME", "How long it holds: 30m, 2h, up to ten years")
      ->excludes(until);
  add_value(adding, "--at-most", given->at_most, "TIME",
            fmt::format("Of --keep: so much beyond the first expiry seen (default: {})",
                        duration_text(hot_rule().keep_at_most)));

  CLI::App& removing = add("remove", "Take a rule away", "KEY --cache PREFIX [OPTIONS]",
#include "hot/remove_help.txt"
  );
  take_key_and_kind(removing, *given, "The rule for all keys that begin with KEY");

  CLI::App& listing = add("list", "Tell which rules there are", "--cache PREFIX [OPTIONS]",
#include "hot/list_help.txt"
  );
  return {{&adding, [&where, given] { return add_rule(where, *given); }},
          {&removing, [&where, given] { return remove_rules(where, *given); }},
          {&listing, [&where, given] { return list_rules(where, *given); }}};
}

}  // namespace herdlock::cli
