#include "run/run_options.hpp"

#include <fmt/format.h>

#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "common/name_argument.hpp"
#include "common/stopping.hpp"
#include "terminal/usage_line.hpp"

namespace herdlock::cli {
namespace {

constexpr char const* run_footer = R"(
CMD runs in a process group of its own, with HERDLOCK_RESOURCE and
HERDLOCK_FENCING_TOKEN in its environment; hand the token to what CMD writes to,
so that it can refuse whoever comes late. The lease is renewed while CMD runs,
and kept until every process of CMD's has ended: herdlock waits for what CMD
leaves in the background, too, also if it left the group (timeout, set -m,
setsid, a daemon). The exit status is CMD's. Standard input and output are CMD's.

When the lease is lost, all of them get SIGTERM, then SIGKILL, before the lease
can be another's; at once if the store says that it is another's already.
SIGINT, SIGTERM, SIGHUP and SIGQUIT go to all of them, SIGUSR1 and SIGUSR2 to
the group. When CMD is stopped (Ctrl-Z), all are, and continue only if the lease
is still valid. If herdlock itself is killed (SIGKILL), they are killed; if it is
stopped (SIGSTOP), they are killed before the lease can be another's. Then only
this is out of reach: a process that left the group, lost its parents, and runs
as another user or without HERDLOCK_WORK in its environment, by which it would
be found.

One at a time is not once: machines whose clocks differ start the same night's
job one after the other, and each short one finds the lease free. --once-per
leaves the lease at the store when CMD has succeeded: who waits or comes before
it ends is told "done already", status 0 (a line with --verbose). After failure
only --min-hold keeps it, else the next may try. TIME is shorter than the
schedule, 23h for a nightly job, so that the next night finds it free. It is at
least once: if herdlock, the machine or the store fails between the end of CMD
and the mark, CMD runs again. --once-per is refused where a lease ends with a
session (MySQL named and row, PostgreSQL advisory and row, ZooKeeper), on
redlock and dialect=getset; there herdlock stays for --min-hold, and SIGTERM
gives the lease back. On etcd a change of leader begins the time anew.

--json tells `event` (campaign, granted, lost, finished, …), `from`, `to`,
`action`, `resource`, `holder`, `fencing` (its token), `elapsed_ms` and,
where there is one, `why` and `status` (herdlock's); `campaign` has the `store`,
`warning` tells what is wrong with CMD. As elect does. What ends herdlock itself
is a line of text as ever.

Exit status:
  CMD's own, or 128 + the signal that ended it
  0    also: done already (--once-per)
  64   usage: a bad name, ttl, URL or option
  69   the store is unavailable, or refuses the password
  75   busy: another holds the lease, and the wait is over
       (0 with --if-busy quiet)
  76   the lease was lost while CMD ran, or before it could start
       (with --on-loss ignore: CMD's own, if it ran)
  126  CMD cannot be executed      127  CMD does not exist

Examples:
  herdlock run nightly-backup -- ./backup.sh
  herdlock run nightly-report --once-per 23h --if-busy quiet -- ./report.sh
  herdlock run deploy --wait 5m -- make deploy
  export HERDLOCK_STORE=redis://:secret@cache.example:6379
  herdlock run reindex --ttl 1m -- python3 reindex.py

A password in --store can be read by every user in the list of processes; put
the URL into HERDLOCK_STORE or a file (--store-file) instead. CMD does not get
HERDLOCK_STORE when there is a secret in it.)";

milliseconds wait_argument(char const* option, std::string const& text) {
  if (text == "none") return milliseconds{0};
  if (text == "forever") return wait_forever;
  return duration_argument(option, text);
}

milliseconds hold_argument(char const* option, std::string const& text) {
  if (text.empty()) return milliseconds{0};
  milliseconds const time = duration_argument(option, text);
  if (time >= limits::min_ttl && time <= limits::max_ttl) return time;
  throw command_error(exit_code::usage,
                      fmt::format("{} {}: must be from 10ms to a year", option, text));
}

// It lives in one process: each run would have one of its own, and exclude nobody.
std::string shared_store(store_arguments const& arguments) {
  std::string text = store_url_of(arguments);
  if (value_or_raise(store_url::parse(text)).scheme != "memory") return text;
  throw command_error(exit_code::usage,
                      "memory: lives in one process; a run needs a store that processes share "
                      "(sqlite:PATH, redis://…)");
}

loss_policy loss_argument(std::string const& text) {
  if (text == "term") return loss_policy::term;
  if (text == "kill") return loss_policy::kill;
  if (text == "ignore") return loss_policy::ignore;
  throw command_error(exit_code::usage, fmt::format("--on-loss {}: there are term, kill and ignore",
                                                    in_quotes(text)));
}

busy_policy busy_argument(std::string const& text) {
  if (text == "fail") return busy_policy::fail;
  if (text == "quiet") return busy_policy::quiet;
  throw command_error(exit_code::usage,
                      fmt::format("--if-busy {}: there are fail and quiet", in_quotes(text)));
}

std::optional<milliseconds> max_hold_argument(std::string const& text) {
  if (text.empty()) return std::nullopt;
  milliseconds const time = duration_argument("--max-hold", text);
  if (time > milliseconds{0} && time <= limits::max_ttl) return time;
  throw command_error(exit_code::usage, "--max-hold must be from 1ms to a year");
}

}  // namespace

CLI::App* add_run_command(CLI::App& app, run_arguments& arguments) {
  CLI::App* run = app.add_subcommand("run", "Run a command while holding a lease");
  usage_line::set(*run, "herdlock run NAME [OPTIONS] -- CMD...");
  run->add_option("NAME", arguments.name, "The resource: 1 to 512 bytes")->required();
  add_store_options(*run, arguments.store);
  run->add_option("--ttl", arguments.ttl, "The lease ends by itself so long after the last renewal")
      ->type_name("TIME")
      ->capture_default_str();
  auto* const wait =
      run->add_option("--wait", arguments.wait,
                      "How long to wait while another holds it, from the start on: a time, none,\n"
                      "forever")
          ->type_name("TIME")
          ->capture_default_str();
  run->add_flag("--try", arguments.once, "The same as --wait none")->excludes(wait);
  run->add_option("--grace", arguments.grace,
                  "How long CMD has between SIGTERM and SIGKILL when the lease is lost\n"
                  "(default: a quarter of the ttl, at most 10s)")
      ->type_name("TIME");
  run->add_option("--on-loss", arguments.on_loss,
                  "What CMD gets when the lease cannot be renewed, --grace before it ends:\n"
                  "term: SIGTERM, then SIGKILL; kill: SIGKILL; ignore: nothing, it runs on")
      ->type_name("WHAT")
      ->capture_default_str();
  run->add_option("--if-busy", arguments.if_busy,
                  "When another holds it: fail: a line, status 75; quiet: nothing, status 0,\n"
                  "as for cron; a store that cannot be used is told all the same")
      ->type_name("WHAT")
      ->capture_default_str();
  run->add_option("--max-hold", arguments.max_hold,
                  "Renew no more after so long, for work that could hang: the lease is lost\n"
                  "at most one ttl later, as above")
      ->type_name("TIME");
  run->add_option("--min-hold", arguments.min_hold,
                  "Keep the lease so long from its grant, however CMD ends, so that short work\n"
                  "does not run again on a machine whose clock is behind")
      ->type_name("TIME");
  run->add_option("--once-per", arguments.once_per,
                  "After success leave the lease, as done, until its grant is so old: who comes\n"
                  "before ends with status 0. Shorter than the schedule: 23h for a nightly job")
      ->type_name("TIME");
  run->add_option("--retry", arguments.retry,
                  "How long to go on trying while the store is away: a time, none, forever;\n"
                  "--wait does so, too")
      ->type_name("TIME")
      ->capture_default_str();
  run->add_flag("--verbose", arguments.verbose, "Tell on standard error what becomes of the lease");
  run->add_flag("--json", arguments.json, "The same, each as a line of JSON");
  run->footer(run_footer);
  return run;
}

run_options check(run_arguments const& arguments) {
  resource name = name_argument(arguments.name);
  milliseconds const ttl = duration_argument("--ttl", arguments.ttl);
  if (failure const why = check_ttl(ttl); why.code) raise(why);
  milliseconds const wait = wait_argument("--wait", arguments.once ? "none" : arguments.wait);
  auto const grace = grace_argument(arguments.grace, ttl);
  if (arguments.command.empty()) {
    throw command_error(exit_code::usage,
                        "no command to run; put it after --, as in: herdlock run NAME -- CMD");
  }
  auto const log = arguments.json      ? event_form::json
                   : arguments.verbose ? event_form::verbose
                                       : event_form::quiet;
  auto const on_loss = loss_argument(arguments.on_loss);
  auto const max_hold = max_hold_argument(arguments.max_hold);
  auto const min_hold = hold_argument("--min-hold", arguments.min_hold);
  auto const once_per = hold_argument("--once-per", arguments.once_per);
  if (once_per > milliseconds{0} && min_hold > once_per) {
    throw command_error(exit_code::usage, "--min-hold must not be longer than --once-per");
  }
  if (max_hold && min_hold > *max_hold) {
    throw command_error(exit_code::usage, "--min-hold must not be longer than --max-hold");
  }
  auto const retry = wait_argument("--retry", arguments.retry);
  return run_options{std::move(name),
                     shared_store(arguments.store),
                     store_choice_of(arguments.store),
                     ttl,
                     wait,
                     grace,
                     max_hold,
                     min_hold,
                     once_per,
                     retry,
                     on_loss,
                     busy_argument(arguments.if_busy),
                     log,
                     arguments.command};
}

}  // namespace herdlock::cli
