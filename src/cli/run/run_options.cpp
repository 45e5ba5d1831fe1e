#include "run/run_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/duration.hpp"
#include "common/exit_code.hpp"
#include "common/state_folder.hpp"
#include "common/usage_line.hpp"

namespace herdlock::cli {
namespace {

constexpr char const* footer = R"(
CMD runs in a process group of its own, with HERDLOCK_RESOURCE and
HERDLOCK_FENCING_TOKEN in its environment; hand the token to what CMD writes to,
so that it can refuse whoever comes late. The lease is renewed while CMD runs,
and kept until every process of the group has ended: herdlock waits for what CMD
leaves in the background, too. The exit status is CMD's.

When the lease is lost, the whole group gets SIGTERM, then SIGKILL, before the
lease can be another's; at once if the store says that it is another's already.
SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 go to the group. When CMD is
stopped (Ctrl-Z), all of the group is, and continues only if the lease is still
valid. If herdlock itself is killed (SIGKILL), the whole group is killed; if it
is stopped (SIGSTOP), the group is killed before the lease can be another's.
Processes that left the group (setsid) are out of reach and not waited for.

Exit status:
  CMD's own, or 128 + the signal that ended it
  64   usage: a bad name, ttl, URL or option
  69   the store is unavailable, or refuses the password
  75   busy: another holds the lease, and the wait is over
  76   the lease was lost while CMD ran, or before it could start
  126  CMD cannot be executed      127  CMD does not exist

Examples:
  herdlock run nightly-backup -- ./backup.sh
  herdlock run deploy --wait 5m -- make deploy
  export HERDLOCK_STORE=redis://:secret@cache.example:6379
  herdlock run reindex --ttl 1m -- python3 reindex.py

A password in --store can be read by every user in the list of processes; put
the URL into HERDLOCK_STORE instead.)";

milliseconds wait_argument(std::string const& text) {
  if (text == "none") return milliseconds{0};
  if (text == "forever") return wait_forever;
  return duration_argument("--wait", text);
}

milliseconds grace_argument(std::string const& text, milliseconds ttl) {
  if (text.empty()) return std::min(milliseconds{10'000}, ttl / 4);
  milliseconds const grace = duration_argument("--grace", text);
  if (grace >= ttl / 2) {
    throw command_error(exit_code::usage,
                        fmt::format("--grace {} is not less than half of the ttl ({}); choose a "
                                    "longer --ttl or a shorter --grace",
                                    say(grace), say(ttl)));
  }
  return grace;
}

}  // namespace

CLI::App* add_run_command(CLI::App& app, run_arguments& arguments) {
  CLI::App* run = app.add_subcommand("run", "Run a command while holding a lease");
  usage_line::set(*run, "herdlock run NAME [OPTIONS] -- CMD...");
  run->add_option("NAME", arguments.name, "The resource: 1 to 512 bytes")->required();
  run->add_option("--store", arguments.store,
                  "Where the lease lives: sqlite:PATH, redis://…, rediss://…\n"
                  "(default: herdlock.db in ~/.local/state/herdlock: all processes of one user)")
      ->envname("HERDLOCK_STORE")
      ->type_name("URL");
  run->add_option("--ttl", arguments.ttl, "The lease ends by itself so long after the last renewal")
      ->type_name("TIME")
      ->capture_default_str();
  run->add_option("--wait", arguments.wait,
                  "How long to wait while another holds it: a time, none, forever")
      ->type_name("TIME")
      ->capture_default_str();
  run->add_option("--grace", arguments.grace,
                  "How long CMD has between SIGTERM and SIGKILL when the lease is lost\n"
                  "(default: a quarter of the ttl, at most 10s)")
      ->type_name("TIME");
  run->footer(footer);
  return run;
}

run_options check(run_arguments const& arguments) {
  result<resource> name = resource::parse(arguments.name);
  if (!name) raise(name.error());
  milliseconds const ttl = duration_argument("--ttl", arguments.ttl);
  if (failure const why = check_ttl(ttl); why.code) raise(why);
  milliseconds const wait = wait_argument(arguments.wait);
  milliseconds const grace = grace_argument(arguments.grace, ttl);
  if (arguments.command.empty()) {
    throw command_error(exit_code::usage,
                        "no command to run; put it after --, as in: herdlock run NAME -- CMD");
  }
  std::string url = arguments.store.empty() ? default_store_url() : arguments.store;
  return run_options{std::move(*name), std::move(url), ttl, wait, grace, arguments.command};
}

}  // namespace herdlock::cli
