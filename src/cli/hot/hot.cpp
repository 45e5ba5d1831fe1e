#include "hot/hot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <herdlock/url.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "common/json_text.hpp"
#include "terminal/notice.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/usage_line.hpp"
#include "terminal/progress_line.hpp"
#include "hot/hot_lines.hpp"
#include "hot/hot_question.hpp"
#include "hot/hot_screen.hpp"
#include "hot/hot_table.hpp"
#include "hot/stoppable_look.hpp"

namespace herdlock::cli {
namespace {

constexpr std::size_t most_keys = 1'000;
constexpr std::uint64_t most_a_second = 10'000'000;

constexpr char const* hot_footer = R"(
Tells which keys are used most, the hottest first. It changes nothing there. The
commands add, remove and list are for what is known of keys in advance.

Sources, and what each of them costs the server:
  clients  What the processes with caches (cache<T> over Redis or SQLite) report to
           each other: some reads. It alone knows of what caches answer without the
           server, so it says what is hot; the others can only propose. A key is
           reported from a hundredth of the cache's fleet_threshold a second on.
           The others are for Redis alone.
  monitor  Every command that comes in for the time of --for (MONITOR). The server
           may do less than half as much meanwhile. Refused when it is busy
           already, unless you say --yes; given up when more than --max-rate
           commands a second come. Values are dropped as they come.
  lfu      The server's own counters, of all keys: SCAN and OBJECT FREQ for
           --max-rate keys a second. Needs maxmemory-policy allkeys-lfu or
           volatile-lfu. They count roughly: read the bounds.
  server   HOTKEYS, where the server has it, for the time of --for. Made after its
           documents, and not tried on a real server.
A Redis user needs the right to each of these commands; when one is missing, the
message names it.

Columns: uses a second, and their bounds; share of all uses; reads and writes a
second; size of the value (--sizes: one command for each key); by how many of the
processes it is kept, and since when; how many read it often. What is not known
is -, and a column without anything is left out. The cost and what limits the
answer are told on standard error.

--watch looks again --interval after each look. On a terminal it is a live screen
(q ends it). Elsewhere it prints a line for each key, `elapsed key rate low high`,
elapsed in seconds, and with --json a list in one line for each look. A look that
fails is told and tried again; the first one must not. What ends it waits for the
look that is under way; a second time it ends at once.

Ctrl-Z ends a look with monitor before it stops the process. kill -STOP and a
suspended machine cannot: the server then keeps in its memory what is not read.

--json prints a list of {key, rate, low, high, reads, writes, source}, the
hottest first, with null for what is not known, and, as far as known, share,
bytes, processes, kept_by, kept_for_ms. What is no UTF-8 in a key is replaced:
it has key_escaped, too, from which printf %b of Bash gives its bytes back.
key_cut: it may be the beginning of a longer key (elsewhere … behind it).

Examples:
  herdlock hot --store redis://cache.example --watch
  herdlock hot --source monitor --for 2s --top 50
  herdlock hot --source lfu --prefix product: --json
  herdlock hot add sale --cache product: --from 2026-12-01T12:00 --for 2h

Exit status:
  0    there is an answer, also when there is no such key
  64   usage: a bad option or URL, or a store, a server or a policy that does not
       have this source
  69   the store is unavailable, may not be asked, or is too busy for monitor
  70   standard output cannot be written
  128 + the signal that ended --watch (130: Ctrl-C))";

survey_source source_of(std::string const& name) {
  for (auto const each : {survey_source::clients, survey_source::monitor, survey_source::lfu,
                          survey_source::server}) {
    if (name == name_of(each)) return each;
  }
  throw command_error(
      exit_code::usage,
      fmt::format("--source {} is none of clients, monitor, lfu, server", in_quotes(name)));
}

hot_question question_of(hot_arguments const& given) {
  if (given.top < 1 || given.top > most_keys) {
    throw command_error(exit_code::usage, fmt::format("--top must be from 1 to {}", most_keys));
  }
  if (given.max_rate < 1 || given.max_rate > most_a_second) {
    throw command_error(exit_code::usage,
                        fmt::format("--max-rate must be from 1 to {}", most_a_second));
  }
  hot_question asked;
  asked.request.source = source_of(given.source);
  asked.request.top = given.top;
  asked.request.prefix = given.prefix;
  asked.request.lasts =
      duration_between("--for", given.lasts, milliseconds{10}, std::chrono::minutes{1});
  asked.request.most_a_second = given.max_rate;
  asked.request.even_if_busy = given.yes;
  asked.request.with_sizes = given.sizes;
  asked.url = store_url_of(given.store);
  auto const parsed = value_or_raise(store_url::parse(asked.url));
  if (parsed.scheme == "memory") {
    throw command_error(exit_code::usage,
                        "memory: lives in one process; there is nothing to see from another "
                        "(redis://…)");
  }
  asked.shown = parsed.redacted();
  return asked;
}

std::size_t width_of_output() {
  winsize size{};
  bool const known = ::isatty(STDOUT_FILENO) == 1 &&
                     ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : any_width;
}

// A terminal of which a program can write each part.
bool has_a_screen() {
  char const* const kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && std::string_view(kind ? kind : "") != "dumb";
}

survey looked(hot_question asked) {
  progress_line const line;
  asked.request.on_progress = [&](double done) {
    line.show(fmt::format("looking: {:.0f} %", 100 * std::clamp(done, 0.0, 1.0)));
  };
  return value_or_raise(stoppable_look(asked));
}

int hot_once(hot_question const& asked, output_form form) {
  survey const seen = looked(asked);
  if (form == output_form::json) {
    fmt::print("{}\n", json_text(hot_json(seen, asked.request.source), json_form::indented));
  } else {
    auto const lines = seen.keys.empty() ? nothing_found(asked.request.source)
                                         : hot_table(seen, width_of_output());
    for (auto const& line : lines) fmt::print("{}\n", line);
  }
  flush_output();
  if (!seen.cost.empty()) notice(seen.cost);
  for (auto const& note : seen.notes) notice(note);
  return 0;
}

// What is asked for must not be without effect, and nobody the wiser.
void refuse_without_effect(CLI::App const& typed, hot_arguments const& given) {
  struct effect {
    char const* option;
    std::vector<std::string> sources;
  };
  for (auto const& [option, sources] :
       {effect{"--for", {"monitor", "server"}}, effect{"--max-rate", {"monitor", "lfu"}},
        effect{"--yes", {"monitor"}}}) {
    bool const has_one = std::count(sources.begin(), sources.end(), given.source) > 0;
    if (typed.count(option) == 0 || has_one) continue;
    throw command_error(exit_code::usage,
                        fmt::format("{} has no effect with --source {}, only with {}", option,
                                    given.source, fmt::join(sources, " and ")));
  }
  if (typed.count("--interval") > 0 && !given.watch) {
    throw command_error(exit_code::usage, "--interval has no effect without --watch");
  }
}

int hot(CLI::App const& typed, hot_arguments const& given) {
  auto const asked = question_of(given);
  refuse_without_effect(typed, given);
  auto const interval =
      duration_between("--interval", given.interval, milliseconds{10}, std::chrono::hours{1});
  auto const form = given.json ? output_form::json : output_form::text;
  if (!given.watch) return hot_once(asked, form);
  if (form == output_form::text && has_a_screen()) return watch_on_screen(asked, interval);
  return watch_in_lines(asked, interval, form);
}

// What is typed in front of the name of a command below is not lost without a word.
void refuse_own_options(CLI::App const& hot_app, std::string const& below) {
  for (CLI::Option const* each : hot_app.get_options()) {
    bool const is_typed = each->count() > 0;
    bool const is_shared = each->check_lname("store") || each->check_lname("store-file");
    if (!is_typed || is_shared) continue;
    throw command_error(exit_code::usage,
                        fmt::format("{} stands in front of {}, where only the store may; herdlock "
                                    "hot {} --help tells what there is",
                                    each->get_name(), below, below));
  }
}

int hot_or_below(CLI::App const& hot_app, std::vector<runnable> const& below,
                 hot_arguments const& given) {
  for (auto const& [command, go] : below) {
    if (!command->parsed()) continue;
    refuse_own_options(hot_app, command->get_name());
    return go();
  }
  return hot(hot_app, given);
}

}  // namespace

runnable add_hot_command(CLI::App& app, hot_arguments& given) {
  CLI::App* const made = app.add_subcommand("hot", "Tell which keys of a store are used most");
  usage_line::set(*made, "herdlock hot [add | remove | list | OPTIONS]");
  add_store_options(*made, given.store);
  made->add_option("--source", given.source, "Who is asked: clients, monitor, lfu or server")
      ->type_name("NAME")
      ->capture_default_str();
  made->add_option("--top", given.top, "So many keys, up to 1000")
      ->type_name("COUNT")
      ->capture_default_str();
  made->add_option("--prefix", given.prefix,
                   "Only keys that begin so; of clients: only caches with this prefix");
  made->add_flag("--watch", given.watch, "Look again and again");
  made->add_option("--interval", given.interval, "From a look to the next, 10ms to 1h")
      ->type_name("TIME")
      ->capture_default_str();
  made->add_option("--for", given.lasts, "How long monitor and server count, 10ms to 1m")
      ->type_name("TIME")
      ->capture_default_str();
  made->add_option("--max-rate", given.max_rate,
                   "A second: commands at which monitor gives up, keys that lfu asks for")
      ->type_name("COUNT")
      ->capture_default_str();
  made->add_flag("--sizes", given.sizes, "Ask for the size of each value, too");
  made->add_flag("--yes", given.yes, "Let monitor begin on a busy server");
  made->add_flag("--json", given.json, "For programs");
  made->footer(hot_footer);
  auto below = add_rule_commands(*made, given.store, given.rule);
  return {made,
          [made, &given, below = std::move(below)] { return hot_or_below(*made, below, given); }};
}

}  // namespace herdlock::cli
