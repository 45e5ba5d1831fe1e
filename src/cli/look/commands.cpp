#include "look/commands.hpp"

#include <herdlock/open.hpp>

#include "terminal/duration.hpp"
#include "common/name_argument.hpp"
#include "terminal/usage_line.hpp"
#include "look/show.hpp"
#include "look/watch.hpp"

namespace herdlock::cli {
namespace {

constexpr std::size_t default_limit = 100;
constexpr std::chrono::hours longest_wait{24 * 365};

constexpr char const* show_footer = R"(
Tells for each NAME who holds it (host/pid, or the candidate's id), for how long
it has had it where the store knows, its fencing token, how long it lasts if
nobody renews it, and who waits, first come first, where the store keeps a queue.

Without a NAME it lists all that are held, by name, as a table (- where a thing
is not known), or says that nothing is. The store is asked for its names in small
parts, so what is acquired or released meanwhile may be listed or not. When there
are more than --limit, a line on standard error says so. A Redis dialect needs a
prefix of its own for it (prefix=… in the URL).

--json prints an array of {resource, held} and, when it is held, {holder,
held_for_ms (null: unknown), done_ms_ago (null unless it was left as done),
fencing, remaining_ms (null: unknown), waiting, waiters}.

Exit status:
  0    all were looked at, held or not
  64   usage: a bad name or URL      69   the store is unavailable)";

constexpr char const* release_footer = R"(
An operator's last resort: takes the lease from whoever holds it. The holder is
told where the store can; else it finds out at its next renewal, within a third
of its ttl: until then it works on beside whoever comes next. Only what checks
fencing tokens is safe from it. First stop the holder, if it can be reached.

Exit status:
  0    taken away      1    nobody held it
  64   usage, also without --force      69   the store is unavailable)";

constexpr char const* watching = R"(
It looks every --interval, a quarter sooner or later so that many do not look
together, and at the end of the lease, if that is sooner.
)";

constexpr char const* wait_footer = R"(
Waits until nobody holds NAME, without taking it: it may be held again a moment
later. To do something while nobody else does: herdlock run NAME --wait forever.
Nobody holds a lease that was left as done (run --once-per), so it counts as free
here; for run it is busy.
)";

constexpr char const* wait_exits = R"(
Exit status:
  0    it is free      75   still held after --timeout
  64   usage: a bad name, time or URL      69   the store is unavailable)";

constexpr char const* watch_footer = R"(
A line on standard output for what is, and for each change: held, by whom, with
which fencing token; free; unknown, while the store does not answer. A change
back and forth between two looks is not seen, but the fencing token tells of it.
A lease that was left as done (run --once-per) is free here: nobody holds it.
--json prints each as {resource, state, holder, fencing, remaining_ms, waiting,
why, elapsed_ms}, as far as there is one.
)";

constexpr char const* watch_exits = R"(
Exit status:
  128 + the signal that ended it (130: Ctrl-C)
  64   usage: a bad name, time or URL
  69   the store is unavailable at the first look)";

store open_of(look_arguments const& given) {
  std::string const text = store_url_of(given.store);
  if (value_or_raise(store_url::parse(text)).scheme == "memory") {
    throw command_error(exit_code::usage,
                        "memory: lives in one process; there is nothing to see from another "
                        "(sqlite:PATH, redis://…)");
  }
  return value_or_raise(try_open_store(text));
}

watch_options watching_of(look_arguments const& given) {
  watch_options asked{.interval = duration_argument("--interval", given.interval)};
  if (asked.interval < limits::min_ttl || asked.interval > std::chrono::hours{1}) {
    throw command_error(exit_code::usage, "--interval must be from 10ms to 1h");
  }
  if (!given.timeout.empty() && given.timeout != "forever") {
    asked.timeout = duration_argument("--timeout", given.timeout);
    if (*asked.timeout > longest_wait) {
      throw command_error(exit_code::usage, "--timeout must be at most a year, or forever");
    }
  }
  asked.form = given.json ? output_form::json : output_form::text;
  return asked;
}

CLI::App* add(CLI::App& app, look_arguments& given, char const* name, char const* about) {
  CLI::App* const made = app.add_subcommand(name, about);
  usage_line::set(*made, std::string("herdlock ") + name + " NAME [OPTIONS]");
  add_store_options(*made, given.store);
  made->add_flag("--json", given.json, "For programs");
  return made;
}

void take_one_name(CLI::App& command, look_arguments& given) {
  command.add_option("NAME", given.names, "The resource")->required()->expected(1);
}

void take_interval(CLI::App& command, look_arguments& given) {
  command.add_option("--interval", given.interval, "How often to look")
      ->type_name("TIME")
      ->capture_default_str();
}

int show_some(look_arguments const& given) {
  auto const form = given.json ? output_form::json : output_form::text;
  std::vector<resource> names;
  for (auto const& text : given.names) names.push_back(name_argument(text));
  if (!names.empty() && given.limit) {
    throw command_error(exit_code::usage, "--limit is for the list of all, without a NAME");
  }
  if (!names.empty()) return show(open_of(given), names, form);
  auto const limit = given.limit.value_or(default_limit);
  if (limit < 1 || limit > most_names) {
    throw command_error(exit_code::usage,
                        "--limit must be from 1 to " + std::to_string(most_names));
  }
  return show_held(open_of(given), limit, form);
}

int release_one(look_arguments const& given) {
  resource const name = name_argument(given.names.front());
  if (!given.force) {
    throw command_error(exit_code::usage,
                        "a lease is given back by who holds it; --force takes it away, see "
                        "herdlock release --help");
  }
  return take_away(open_of(given), name, given.json ? output_form::json : output_form::text);
}

}  // namespace

std::vector<runnable> add_look_commands(CLI::App& app, look_arguments& arguments) {
  auto& given = arguments;
  CLI::App* const showing = add(app, given, "show", "Tell who holds what, and who waits");
  usage_line::set(*showing, "herdlock show [NAME...] [OPTIONS]");
  showing->add_option("NAME", given.names, "The resources; none: all that are held")
      ->expected(0, 1000);
  showing
      ->add_option("--limit", given.limit,
                   "List so many (default: " + std::to_string(default_limit) + ")")
      ->type_name("COUNT");
  showing->footer(show_footer);

  CLI::App* const releasing = add(app, given, "release", "Take a lease away from its holder");
  usage_line::set(*releasing, "herdlock release NAME --force [OPTIONS]");
  take_one_name(*releasing, given);
  releasing->add_flag("--force", given.force, "Required: the holder may still be at work");
  releasing->footer(release_footer);

  CLI::App* const waiting = add(app, given, "wait", "Wait until a resource is free");
  take_one_name(*waiting, given);
  waiting->add_option("--timeout", given.timeout, "A time, or forever (the default)")
      ->type_name("TIME");
  take_interval(*waiting, given);
  waiting->footer(std::string(wait_footer) + watching + wait_exits);

  CLI::App* const seeing = add(app, given, "watch", "A line for each change of the holder");
  take_one_name(*seeing, given);
  take_interval(*seeing, given);
  seeing->footer(std::string(watch_footer) + watching + watch_exits);

  return {{showing, [&given] { return show_some(given); }},
          {releasing, [&given] { return release_one(given); }},
          {waiting,
           [&given] {
             auto const asked = watching_of(given);
             auto const name = name_argument(given.names.front());
             return wait_until_free(open_of(given), name, asked);
           }},
          {seeing, [&given] {
             auto const asked = watching_of(given);
             auto const name = name_argument(given.names.front());
             return watch(open_of(given), name, asked);
           }}};
}

}  // namespace herdlock::cli
