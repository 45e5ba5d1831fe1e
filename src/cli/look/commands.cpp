#include <herdlock/open.hpp>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "common/arguments.hpp"
#include "common/chosen_store.hpp"
#include "look/show.hpp"
#include "look/watch.hpp"
#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

constexpr std::size_t default_limit = 100;
constexpr std::chrono::hours longest_wait{24 * 365};

constexpr char const* show_footer =
#include "look/show_help.txt"
    ;

constexpr char const* release_footer =
#include "look/release_help.txt"
    ;

constexpr char const* wait_footer =
#include "look/wait_help.txt"
    ;

constexpr char const* watch_footer =
#include "look/watch_help.txt"
    ;

// As typed; one of the commands is given, so they share.
struct look_arguments {
  std::vector<std::string> names;
  store_arguments store;
  std::string timeout;  // of `wait`; empty: for ever
  std::string interval = "1s";
  std::optional<std::size_t> limit;  // of `show` without names
  bool force = false;
  bool json = false;
};

store open_of(look_arguments const& given) {
  return value_or_raise(try_open_store(shared_store_of(given.store).url));
}

output_form form_of(look_arguments const& given) {
  return given.json ? output_form::json : output_form::text;
}

watch_options watching_of(look_arguments const& given) {
  watch_options asked{.interval = duration_between("--interval", given.interval, limits::min_ttl,
                                                   std::chrono::hours{1})};
  if (!given.timeout.empty() && given.timeout != "forever") {
    asked.timeout = duration_between("--timeout", given.timeout, milliseconds{0}, longest_wait);
  }
  asked.form = form_of(given);
  return asked;
}

CLI::App& add(CLI::App& app, look_arguments& given, char const* name, char const* about,
              std::string const& usage, std::string footer) {
  CLI::App& made = add_command(app, name, about, usage, std::move(footer));
  add_store_options(made, given.store);
  made.add_flag("--json", given.json, "For programs");
  return made;
}

void take_one_name(CLI::App& command, look_arguments& given) {
  command.add_option("NAME", given.names, "The resource")->required()->expected(1);
}

void take_interval(CLI::App& command, look_arguments& given) {
  add_value(command, "--interval", given.interval, "TIME", "How often to look");
}

int show_some(look_arguments const& given) {
  std::vector<resource> names;
  for (auto const& text : given.names) names.push_back(name_argument(text));
  if (!names.empty() && given.limit) {
    throw command_error(exit_code::usage, "--limit is for the list of all, without a NAME");
  }
  if (!names.empty()) return show(open_of(given), names, form_of(given));
  auto const limit = given.limit.value_or(default_limit);
  if (limit < 1 || limit > most_names) {
    throw command_error(exit_code::usage,
                        "--limit must be from 1 to " + std::to_string(most_names));
  }
  return show_held(open_of(given), limit, form_of(given));
}

int release_one(look_arguments const& given) {
  resource const name = name_argument(given.names.front());
  if (!given.force) {
    throw command_error(exit_code::usage,
                        "a lease is given back by who holds it; --force takes it away, see "
                        "herdlock release --help");
  }
  return take_away(open_of(given), name, form_of(given));
}

// `wait` or `watch`.
std::function<int()> looking_again(std::shared_ptr<look_arguments> given,
                                   int (*what)(store const& where, resource const& name,
                                               watch_options const& options)) {
  return [given, what] {
    auto const asked = watching_of(*given);
    auto const name = name_argument(given->names.front());
    return what(open_of(*given), name, asked);
  };
}

}  // namespace

std::vector<runnable> add_look_commands(CLI::App& app) {
  auto const given = std::make_shared<look_arguments>();
  CLI::App& showing = add(app, *given, "show", "Tell who holds what, and who waits",
                          "[NAME...] [OPTIONS]", show_footer);
  showing.add_option("NAME", given->names, "The resources; none: all that are held")
      ->expected(0, 1000);
  showing
      .add_option("--limit", given->limit,
                  "List so many (default: " + std::to_string(default_limit) + ")")
      ->type_name("COUNT");

  CLI::App& releasing = add(app, *given, "release", "Take a lease away from its holder",
                            "NAME --force [OPTIONS]", release_footer);
  take_one_name(releasing, *given);
  releasing.add_flag("--force", given->force, "Required: the holder may still be at work");

  CLI::App& waiting =
      add(app, *given, "wait", "Wait until a resource is free", "NAME [OPTIONS]", wait_footer);
  take_one_name(waiting, *given);
  add_value(waiting, "--timeout", given->timeout, "TIME", "A time, or forever (the default)");
  take_interval(waiting, *given);

  CLI::App& seeing = add(app, *given, "watch", "A line for each change of the holder",
                         "NAME [OPTIONS]", watch_footer);
  take_one_name(seeing, *given);
  take_interval(seeing, *given);

  return {{&showing, [given] { return show_some(*given); }},
          {&releasing, [given] { return release_one(*given); }},
          {&waiting, looking_again(given, wait_until_free)},
          {&seeing, looking_again(given, watch)}};
}

}  // namespace herdlock::cli
