#include "scenes/hotkey_options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <herdlock/hot_keys.hpp>

#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/process_arguments.hpp"
#include "terminal/store_argument.hpp"
#include "terminal/usage_line.hpp"

namespace herdlock::cli {
namespace {

// A key whose rate is just that of the threshold may be found or not.
constexpr double clearly = 1.5;

constexpr char const* hotkey_footer = R"(
Processes ask a cache for many keys, some of them often and most of them seldom
(Zipf). Then all of them ask for one key that nobody has asked for before, --rate
times a second, and after a while nobody does any more. This is played twice: with
caches that count no keys, and with caches as they are by default, which find
their hot keys and keep them in the process.

In a run of 10 s the key is asked for from second 2 to second 6; in a longer or
shorter one it is the same share of the time. Keys are counted in a window of 3/20
of that time, so that it is seen how the key cools (by default it is 10 s).

What is told is measured in the processes: each call, whether it asked the store
or was answered by what the process keeps, and how long it took. A tenth of --rate
goes to the other keys. p99 is right within a tenth. Should the machine be too
slow, requests that would begin more than 100 ms late are left out, and counted.

  found   a process has called the key hot, by its own counts or by what the
          others told it
  kept    a call was answered by what the process keeps, the first one
  cooled  the process has called it hot no more

Values are kept where the store pushes changes: redis://…, Redis 7.0 or newer, or
Valkey. For one that nobody else uses:
  redis-server --port 7777 --save '' --daemonize yes
Elsewhere, as in the temporary SQLite file that is the default, a key is found and
not kept: the store has the same load in both runs.

The entries are removed at the end; when the command is interrupted they go by
themselves, after two minutes and twice --time. A password in a URL can be read by every user
in the list of processes: this command has HERDLOCK_STORE for it.

Exit status: 0; 1 if a call had no answer, or a process did not find the key, keep
it where it can be kept, or call it cooled; 64 for usage, and for a server that
pushes no changes; 69 if the store cannot be used, or a process was killed; 70 for
lack of memory or processes, or if the output cannot be written.

Examples:
  herdlock demo hotkey --store redis://127.0.0.1:7777
  herdlock demo hotkey --store redis://127.0.0.1:7777 --plot hotkey.svg
  herdlock demo hotkey --store redis://127.0.0.1:7777 --rate 50000 --time 30s
  herdlock demo hotkey --processes 2 --rate 4000)";

void require_findable(hotkey_options const& options) {
  bool const by_each = options.rate_of_each() >= clearly * options.threshold;
  bool const by_all = options.rate >= clearly * options.fleet_threshold();
  if (!by_each && !by_all) {
    throw command_error(
        exit_code::usage,
        fmt::format("--rate {:g}: no process would call the key hot; use --rate {:.0f} or more for "
                    "--processes {}, or a smaller --threshold",
                    options.rate,
                    std::ceil(clearly * options.threshold *
                              std::min(static_cast<double>(options.processes), 10.0)),
                    options.processes));
  }
  // So often it is to be read within half a window, to be sure.
  auto const least = 2 * static_cast<double>(hot_keys_options{}.min_reads);
  double const half_s = static_cast<double>(options.window().count()) / 2e3;
  if (options.rate_of_each() * half_s < least) {
    throw command_error(
        exit_code::usage,
        fmt::format("--rate {:g}: too few requests for --processes {} in --time {}; use --rate "
                    "{:.0f} or more, or a longer --time",
                    options.rate, options.processes, say_exactly(options.time),
                    std::ceil(least / half_s * static_cast<double>(options.processes))));
  }
  // What hot_keys refuses: a key at the threshold would never be found.
  if (options.threshold * half_s < least / 2) {
    throw command_error(
        exit_code::usage,
        fmt::format("--threshold {:g}: too small for --time {}; use {:.0f} or more, or a longer "
                    "--time",
                    options.threshold, say_exactly(options.time), std::ceil(least / 2 / half_s)));
  }
}

}  // namespace

void require_hot_in_each(hotkey_options const& options) {
  if (options.rate_of_each() >= clearly * options.threshold) return;
  throw command_error(
      exit_code::usage,
      fmt::format("--rate {:g}: over this store each process goes by its own counts, and none "
                  "would call the key hot; use --rate {:.0f} or more for --processes {}, or a "
                  "smaller --threshold",
                  options.rate,
                  std::ceil(clearly * options.threshold * static_cast<double>(options.processes)),
                  options.processes));
}

CLI::App* add_hotkey_command(CLI::App& demo, hotkey_arguments& arguments) {
  CLI::App* app = demo.add_subcommand(
      "hotkey", "All ask for one key at once: when is it found, and what has the store of it?");
  usage_line::set(*app, "herdlock demo hotkey [OPTIONS]");
  app->add_option("--store", arguments.store,
                  "Where the cache is: redis://…, sqlite:PATH\n"
                  "(default: a temporary SQLite file)")
      ->envname("HERDLOCK_STORE")
      ->type_name("URL");
  add_store_file_option(*app, arguments.store);
  app->add_option("--processes", arguments.processes, "Real processes that ask")
      ->type_name("P")
      ->capture_default_str();
  app->add_option("--rate", arguments.rate, "So often a second they ask for the key, all together")
      ->type_name("R")
      ->capture_default_str();
  app->add_option("--keys", arguments.keys, "Other keys, asked for all the time")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--threshold", arguments.threshold,
                  "Reads a second from which a key is hot in a process;\n"
                  "for all processes together ten times that")
      ->type_name("R")
      ->capture_default_str();
  app->add_option("--time", arguments.time, "How long each of the two runs is")
      ->type_name("TIME")
      ->capture_default_str();
  app->add_flag("--json", arguments.json, "Print the figures as JSON");
  app->add_option("--plot", arguments.plot, "Draw load and latency over the time")
      ->type_name("FILE.svg");
  app->footer(hotkey_footer);
  return app;
}

hotkey_options check(hotkey_arguments const& arguments) {
  require_between("--processes", arguments.processes, hotkey_limits::max_processes);
  require_between("--rate", arguments.rate, hotkey_limits::max_rate);
  require_between("--keys", arguments.keys, hotkey_limits::max_keys);
  require_between("--threshold", arguments.threshold, hotkey_limits::max_rate);
  hotkey_options options;
  options.store_url = arguments.store;
  options.processes = static_cast<std::size_t>(arguments.processes);
  options.rate = arguments.rate;
  options.keys = static_cast<std::size_t>(arguments.keys);
  options.threshold = arguments.threshold;
  options.time =
      duration_between("--time", arguments.time, hotkey_limits::min_time, hotkey_limits::max_time);
  options.json = arguments.json;
  options.plot = arguments.plot;
  require_shareable(options.store_url, arguments.processes);
  require_findable(options);
  return options;
}

}  // namespace herdlock::cli
