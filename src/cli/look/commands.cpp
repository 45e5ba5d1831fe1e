#include "commands.hpp"
#include "common/arguments.hpp"
#include "common/chosen_store.hpp"
#include "look/look.hpp"
#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

constexpr std::size_t default_limit = 100;
constexpr std::chrono::hours longest_wait{24 * 365};

// As typed; one of the commands is given, so they share.
struct look_arguments {
  std::vector<std::string> names;
  store_arguments store;
  std::string timeout;  // of `wait`; empty: for ever
  std::string interval = "1s";
  std::optional<std::size_t> limit;  // of `show` without names
  bool force = false;
  output_form form = output_form::text;
};

store open_of(look_arguments const& given) {
  return value_or_raise(try_open_store(shared_store_of(given.store).url));
}

int show_some(look_arguments const& given) {
  std::vector<resource> names;
  for (auto const& text : given.names) names.push_back(name_argument(text));
  if (!names.empty() && given.limit) refuse("--limit is for the list of all, without a NAME");
  auto const limit = given.limit.value_or(default_limit);
  if (limit < 1 || limit > most_names) refuse("--limit must be from 1 to {}", most_names);
  auto const where = open_of(given);
  return names.empty() ? show_held(where, limit, given.form) : show(where, names, given.form);
}

int release_one(look_arguments const& given) {
  resource const name = name_argument(given.names.front());
  if (!given.force) {
    refuse(
        "a lease is given back by who holds it; --force takes it away, see herdlock release "
        "--help");
  }
  return take_away(open_of(given), name, given.form);
}

// `what` is wait_until_free or watch.
int look_again(look_arguments const& given, decltype(&watch) what) {
  watch_options asked{.interval = duration_between("--interval", given.interval, limits::min_ttl,
                                                   std::chrono::hours{1}),
                      .form = given.form};
  if (!given.timeout.empty() && given.timeout != "forever") {
    asked.timeout = duration_between("--timeout", given.timeout, milliseconds{0}, longest_wait);
  }
  auto const name = name_argument(given.names.front());
  return what(open_of(given), name, asked);
}

void take_one_name(CLI::App& command, look_arguments& given) {
  command.add_option("NAME", given.names, "The resource")->required()->expected(1);
}

void take_interval(CLI::App& command, look_arguments& given) {
  add_value(command, "--interval", given.interval, "TIME", "How often to look");
}

}  // namespace

std::vector<runnable> add_look_commands(CLI::App& app) {
  auto const given = std::make_shared<look_arguments>();
  auto const add = [&](char const* name, char const* about, char const* usage,
                       char const* footer) -> CLI::App& {
    CLI::App& made = add_command(app, name, about, usage, footer);
    add_store_options(made, given->store);
    auto const chosen = [&form = given->form] { form = output_form::json; };
    made.add_flag_callback("--json", chosen, "For programs");
    return made;
  };
  CLI::App& showing = add("show", "Tell who holds what, and who waits", "[NAME...] [OPTIONS]",
#include "look/show_help.txt"
  );
  showing.add_option("NAME", given->names, "The resources; none: all that are held")
      ->expected(0, 1000);
  showing
      .add_option("--limit", given->limit, fmt::format("List so many (default: {})", default_limit))
      ->type_name("COUNT");

  CLI::App& releasing =
      add("release", "Take a lease away from its holder", "NAME --force [OPTIONS]",
#include "look/release_help.txt"
      );
  take_one_name(releasing, *given);
  releasing.add_flag("--force", given->force, "Required: the holder may still be at work");

  CLI::App& waiting = add("wait", "Wait until a resource is free", "NAME [OPTIONS]",
#include "look/wait_help.txt"
  );
  take_one_name(waiting, *given);
  add_value(waiting, "--timeout", given->timeout, "TIME", "A time, or forever (the default)");
  take_interval(waiting, *given);

  CLI::App& seeing = add("watch", "A line for each change of the holder", "NAME [OPTIONS]",
#include "look/watch_help.txt"
  );
  take_one_name(seeing, *given);
  take_interval(seeing, *given);

  return {{&showing, [given] { return show_some(*given); }},
          {&releasing, [given] { return release_one(*given); }},
          {&waiting, [given] { return look_again(*given, wait_until_free); }},
          {&seeing, [given] { return look_again(*given, watch); }}};
}

}  // namespace herdlock::cli
