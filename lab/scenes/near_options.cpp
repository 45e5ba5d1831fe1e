#include "scenes/near_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <herdlock/url.hpp>

#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/process_arguments.hpp"
#include "terminal/store_argument.hpp"
#include "terminal/usage_line.hpp"

namespace herdlock::cli {
namespace {

using boost::asio::ip::tcp;

constexpr std::uint16_t usual_port = 6379;

constexpr char const* near_footer = R"(
One process changes a value again and again. The others read it as fast as they
can, each from what it keeps itself (a near cache): Redis tells them of each
change. In the middle the connections of some of them stand still: the sockets
stay open, and nothing comes any more, as when a network cable is pulled.

A line for each change, written when the next one comes; a column for each
process:

  0.7    it served the change 0.7 ms after the write was acknowledged
  old    when its line was written it still served an older value
  waits  it has no answer: it no longer trusts what it keeps, and asks Redis
  fails  the question to Redis has run into the store's timeout, or the value
         is gone

So a process whose connection is dead serves an old value for --max-staleness at
most. Who cannot wait so long asks for a fence: what is read behind it is no
older than the fence. Each process does that, too, 50 times a second.

The connections of the readers pass through a relay of the demo, so the store is
one Redis server over plain TCP: redis://HOST:PORT, Redis 7.0 or newer, or
Valkey. For one that nobody else uses:
  redis-server --port 7777 --save '' --daemonize yes

A password in a URL can be read by every user in the list of processes: this
command has HERDLOCK_STORE for it.

A write that the store does not answer in time is done again.

Exit status: 0; 1 if a promise was broken: a value was old for longer than
--max-staleness, or old behind a fence, or a change never came; 64 for usage and
for a store whose values cannot be kept; 69 if the store cannot be used, or a
process was killed; 70 for lack of memory or processes, or if the output cannot
be written.

Examples:
  herdlock demo near --store redis://127.0.0.1:7777
  herdlock demo near --store redis://127.0.0.1:7777 --max-staleness 300ms
  herdlock demo near --store redis://127.0.0.1:7777 --processes 16 --frozen 16 \
    --time 20s --freeze 5s)";

// One Redis server in front of which a relay can stand.
store_url server_argument(std::string const& text) {
  constexpr char const* way_out =
      "use --store redis://HOST:PORT (redis-server --port 7777 starts "
      "one)";
  if (text.empty()) {
    throw command_error(exit_code::usage,
                        fmt::format("demo near needs a Redis server: {}", way_out));
  }
  store_url url = value_or_raise(store_url::parse(text));
  if (url.scheme == "redis" && url.hosts.empty() && !url.host.empty()) return url;
  throw command_error(
      exit_code::usage,
      fmt::format("--store {}: the demo puts a relay in front of one Redis server over plain TCP; "
                  "{}",
                  url.redacted(), way_out));
}

// Names are the library's to look up, and the relay is the command's.
tcp::endpoint endpoint_of(store_url const& url) {
  boost::system::error_code code;
  auto const address =
      boost::asio::ip::make_address(url.host == "localhost" ? "127.0.0.1" : url.host, code);
  if (!code) return {address, url.port.value_or(usual_port)};
  throw command_error(exit_code::usage,
                      fmt::format("--store {}: the demo's relay needs the address of {}; `getent "
                                  "hosts {}` tells it",
                                  url.redacted(), url.host, url.host));
}

std::size_t frozen_argument(near_arguments const& arguments) {
  int const frozen = arguments.frozen.value_or((arguments.processes + 1) / 2);
  if (frozen >= 0 && frozen <= arguments.processes) return static_cast<std::size_t>(frozen);
  throw command_error(exit_code::usage, fmt::format("--frozen {}: must be between 0 and {}, the "
                                                    "--processes",
                                                    frozen, arguments.processes));
}

}  // namespace

CLI::App* add_near_command(CLI::App& demo, near_arguments& arguments) {
  CLI::App* app = demo.add_subcommand(
      "near", "A value kept in each process is changed: who sees it when, and who is cut off?");
  usage_line::set(*app, "herdlock demo near --store redis://HOST:PORT [OPTIONS]");
  app->add_option("--store", arguments.store, "The Redis server where the value is")
      ->envname("HERDLOCK_STORE")
      ->type_name("URL");
  add_store_file_option(*app, arguments.store);
  app->add_option("--processes", arguments.processes, "Real processes that read")
      ->type_name("P")
      ->capture_default_str();
  app->add_option("--frozen", arguments.frozen,
                  "The connections of so many of them stand still in the middle\n"
                  "(default: half of them)")
      ->type_name("N");
  app->add_option("--freeze", arguments.freeze,
                  "For how long (default: 2500ms, but no longer than\n"
                  "a quarter of --time)")
      ->type_name("TIME");
  app->add_option("--max-staleness", arguments.max_staleness,
                  "How old a value may be that a process serves by itself")
      ->type_name("TIME")
      ->capture_default_str();
  app->add_option("--every", arguments.every,
                  "How often the value is changed (default: 400ms, but\n"
                  "no longer than a quarter of --time)")
      ->type_name("TIME");
  app->add_option("--time", arguments.time, "How long it is changed altogether")
      ->type_name("TIME")
      ->capture_default_str();
  app->add_flag("--json", arguments.json, "Print the figures as JSON");
  app->footer(near_footer);
  return app;
}

near_options check(near_arguments const& arguments) {
  using namespace std::chrono_literals;
  require_between("--processes", arguments.processes, near_limits::max_processes);
  store_url const url = server_argument(arguments.store);
  near_options options;
  options.store_url = arguments.store;
  options.shown = url.redacted();
  options.server = endpoint_of(url);
  options.processes = static_cast<std::size_t>(arguments.processes);
  options.frozen = frozen_argument(arguments);
  auto const time =
      duration_between("--time", arguments.time, near_limits::min_time, near_limits::max_time);
  options.freeze = arguments.freeze ? duration_between("--freeze", *arguments.freeze, 0ms, time / 2)
                                    : std::min(near_limits::usual_freeze, time / 4);
  if (options.freeze == 0ms) options.frozen = 0;
  options.before_freeze = (time - options.freeze) * 2 / 5;
  options.after_freeze = time - options.freeze - options.before_freeze;
  options.every = arguments.every ? duration_between("--every", *arguments.every,
                                                     near_limits::min_every, time / 4)
                                  : std::min(near_limits::usual_every, time / 4);
  options.max_staleness = duration_between("--max-staleness", arguments.max_staleness, 10ms, 10min);
  options.json = arguments.json;
  return options;
}

std::string through_port(std::string const& url, std::uint16_t port) {
  auto const begin = url.find("://") + 3;
  auto const end = std::min(url.find_first_of("/?#", begin), url.size());
  auto const at = url.rfind('@', end);
  auto const host = at == std::string::npos || at < begin ? begin : at + 1;
  return fmt::format("{}127.0.0.1:{}{}", url.substr(0, host), port, url.substr(end));
}

}  // namespace herdlock::cli
