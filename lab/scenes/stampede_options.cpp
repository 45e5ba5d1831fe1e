#include "scenes/stampede_options.hpp"

#include <fmt/format.h>

#include <CLI/StringTools.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/process_arguments.hpp"
#include "terminal/store_argument.hpp"
#include "terminal/usage_line.hpp"

namespace herdlock::cli {
namespace {

constexpr char const* footer_begin = R"(
A product's cache entry expires while every process gets requests for it. Each
process is a real one; they share the cache (--store) and the database
(--origin), whose query is deliberately slow. Loads are counted by the database:
each one leaves a row in the table herdlock_demo_load.

)";

constexpr char const* footer_end = R"(
A request that finds no answer in the cache when it comes waits for a load, its
own or another's. early and logical have an answer meanwhile, the product as it
was before the expiry: a stale answer, which elsewhere is an error. In early the
requests come a little before the entry would expire, in the other modes when it
has. A process of these two goes on asking until it gets the new product; if it
has to wait for that, this counts as well. In near the requests come once more
when a process has the new product: Redis tells each process when it changes,
so they are answered without asking Redis.

The last answer is that of the slowest expiry. A process has at most 64
connections to the database, all together at most 256 (MySQL: four fifths of
its max_connections); further loads wait for one.

A database that you give is left with the tables Product and herdlock_demo_load;
the cache entry is removed. A password in a URL can be read by every user in the
list of processes: this command has HERDLOCK_STORE, HERDLOCK_LOCKS and
HERDLOCK_ORIGIN for it.

Exit status: 0; 1 if a request failed or got a wrong answer; 64 for usage;
69 if the store or the origin cannot be used.

Examples:
  herdlock demo stampede
  herdlock demo stampede --plot stampede.svg
  herdlock demo stampede --mode fleet,early,logical
  herdlock demo stampede --mode fleet --kill-loader
  herdlock demo stampede --mode fleet,near --store redis://127.0.0.1:6379
  herdlock demo stampede --store redis://127.0.0.1:6379 \
    --origin mysql://demo@127.0.0.1/demo --processes 10 --requests 10000 \
    --expiries 20 --mode fleet)";

std::string footer() {
  std::string text = footer_begin;
  for (mode_facts const& each : all_modes()) {
    text += fmt::format("  {:<12} {}\n", each.name, each.does);
  }
  return text + footer_end;
}

std::string names_of_all() {
  std::string names;
  for (mode_facts const& each : all_modes()) names += fmt::format(", {}", each.name);
  return names.substr(2);
}

guard_mode mode_argument(std::string const& name) {
  if (auto const mode = parse_mode(name)) return *mode;
  throw command_error(exit_code::usage, fmt::format("--mode {}: is none of all, {}",
                                                    in_quotes(name), names_of_all()));
}

std::vector<guard_mode> modes_argument(std::string const& text) {
  std::vector<guard_mode> modes;
  if (text == "all") {
    for (mode_facts const& each : all_modes()) modes.push_back(each.mode);
    return modes;
  }
  for (std::string const& name : CLI::detail::split(text, ',')) {
    guard_mode const mode = mode_argument(name);
    if (plays(modes, mode)) {
      throw command_error(exit_code::usage,
                          fmt::format("--mode {}: {} is twice there", text, name));
    }
    modes.push_back(mode);
  }
  return modes;
}

void check_kill(stampede_options const& options) {
  if (!options.kill_loader) return;
  if (!plays(options.modes, guard_mode::fleet) || options.processes < 2) {
    throw command_error(exit_code::usage,
                        "--kill-loader: needs the mode fleet and at least 2 processes, so that "
                        "one is left to load");
  }
}

void add_numbers(CLI::App& app, stampede_arguments& arguments) {
  app.add_option("--processes", arguments.processes, "Real processes")
      ->type_name("P")
      ->capture_default_str();
  app.add_option("--requests", arguments.requests, "Concurrent requests in each process")
      ->type_name("R")
      ->capture_default_str();
  app.add_option("--expiries", arguments.expiries, "How often the entry expires")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--load-time", arguments.load_time, "How long the query takes")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--claim-ttl", arguments.claim_ttl,
                 "fleet: how long the others wait for a loader that died")
      ->type_name("TIME")
      ->capture_default_str();
}

}  // namespace

bool plays(std::vector<guard_mode> const& modes, guard_mode mode) {
  return std::find(modes.begin(), modes.end(), mode) != modes.end();
}

CLI::App* add_stampede_command(CLI::App& demo, stampede_arguments& arguments) {
  CLI::App* app =
      demo.add_subcommand("stampede", "A hot entry expires under many requests: how many load it?");
  usage_line::set(*app, "herdlock demo stampede [OPTIONS]");
  app->add_option("--store", arguments.store,
                  "Where the cache entry lives: sqlite:PATH, redis://…, memory:\n"
                  "(default: a temporary SQLite file)")
      ->envname("HERDLOCK_STORE")
      ->type_name("URL");
  add_store_file_option(*app, arguments.store);
  app->add_option("--origin", arguments.origin,
                  "The database: sqlite:PATH or mysql://user:password@host:port/database\n"
                  "(default: a temporary SQLite file)")
      ->envname("HERDLOCK_ORIGIN")
      ->type_name("URL");
  app->add_option("--locks", arguments.locks,
                  "double-lock: where its locks live, any store\n"
                  "(default: a temporary SQLite file)")
      ->envname("HERDLOCK_LOCKS")
      ->type_name("URL");
  app->add_option("--mode", arguments.modes, "Which ways are played, or all that the store can do")
      ->type_name("MODE,…")
      ->capture_default_str();
  add_numbers(*app, arguments);
  app->add_flag("--kill-loader", arguments.kill_loader,
                "fleet: in the first expiry SIGKILL the process that loads, while it does");
  app->add_flag("--json", arguments.json, "Print the figures as JSON");
  app->add_option("--plot", arguments.plot, "Draw the timeline of one expiry of each mode")
      ->type_name("FILE.svg");
  app->footer(footer());
  return app;
}

stampede_options check(stampede_arguments const& arguments) {
  using namespace std::chrono_literals;
  require_between("--processes", arguments.processes, stampede_limits::max_processes);
  require_between("--requests", arguments.requests, stampede_limits::max_requests);
  require_between("--expiries", arguments.expiries, stampede_limits::max_expiries);
  stampede_options options;
  options.store_url = arguments.store;
  options.locks_url = arguments.locks;
  options.origin = {arguments.origin,
                    duration_between("--load-time", arguments.load_time, 1ms, 10min)};
  options.modes = modes_argument(arguments.modes);
  options.all_modes = arguments.modes == "all";
  options.processes = arguments.processes;
  options.requests = arguments.requests;
  options.expiries = arguments.expiries;
  options.claim_ttl = duration_between("--claim-ttl", arguments.claim_ttl, 100ms, 10min);
  options.json = arguments.json;
  options.kill_loader = arguments.kill_loader;
  options.plot = arguments.plot;
  check_kill(options);
  require_shareable(options.store_url, options.processes);
  require_shareable(options.locks_url, options.processes);
  return options;
}

std::string worker_orders::to_json() const {
  return nlohmann::json{{"store", store_url},
                        {"locks", locks_url},
                        {"origin", origin.url},
                        {"load_time", origin.load_time.count()},
                        {"mode", name_of(mode)},
                        {"run", run},
                        {"key", key},
                        {"processes", processes},
                        {"requests", requests},
                        {"connections", connections},
                        {"claim_ttl", claim_ttl.count()}}
      .dump();
}

worker_orders worker_orders::from_json(std::string const& text) {
  auto const json = nlohmann::json::parse(text);
  worker_orders orders;
  orders.store_url = json.at("store");
  orders.locks_url = json.at("locks");
  orders.origin = {json.at("origin"), milliseconds(json.at("load_time").get<std::int64_t>())};
  orders.mode = parse_mode(json.at("mode").get<std::string>()).value();
  orders.run = json.at("run");
  orders.key = json.at("key");
  orders.processes = json.at("processes");
  orders.requests = json.at("requests");
  orders.connections = json.at("connections");
  orders.claim_ttl = milliseconds(json.at("claim_ttl").get<std::int64_t>());
  return orders;
}

}  // namespace herdlock::cli
