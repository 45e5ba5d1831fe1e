#include "elect/elect_options.hpp"

#include <fmt/format.h>

#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "common/name_argument.hpp"
#include "terminal/process_arguments.hpp"
#include "common/stopping.hpp"
#include "terminal/usage_line.hpp"

namespace herdlock::cli {
namespace {

constexpr int most_terms = 1'000'000;

constexpr char const* elect_footer = R"(
Start it on every machine, with one --store: one of them, the leader, runs CMD; the others stand
by. The leader goes on until it is told to stop (SIGTERM, SIGINT, SIGHUP,
SIGQUIT), dies, or cannot renew its term any more; then the next takes over: at
once after a resignation, else when the term's ttl is over.

CMD runs in a process group of its own, without a terminal, with
  HERDLOCK_RESOURCE       NAME
  HERDLOCK_TERM           the number of the term, greater at each one
  HERDLOCK_FENCING_TOKEN  the same; hand it to what CMD writes to, so that it
                          can refuse whoever comes late
  HERDLOCK_CANDIDATE      the id under which this candidate leads
Before a term can be another's, the whole group gets SIGTERM and, after --grace,
SIGKILL: also when the store cannot be reached, when herdlock itself is killed
(SIGKILL), and when it is stopped (SIGSTOP). So does whatever left the group
(timeout, set -m, setsid): the term is kept until no process of CMD's is left.
SIGUSR1 and SIGUSR2 go to the group.

--json tells `event` (campaign, granted, lost, …), `from`, `to`, `action`,
`resource`, `holder`, `fencing`, `elapsed_ms` and, where there is one, `why`;
`campaign` has the `store`, `warning` tells what is wrong with CMD;
what ends herdlock itself is a line of text as ever.

When CMD ends by itself, the term is given back, and this candidate rests for
--rest before it stands again, twice as long each time CMD ends soon, up to 5s.
While the store cannot be reached, it rests in the same way and goes on trying.

Exit status:
  0    resigned on a signal
  CMD's own, or 128 + the signal that ended it, with --once and --terms
  64   usage: a bad name, ttl, URL or option
  69   the store refuses (password, rights, kind of key)
  76   with --terms: the last term was lost
  126  CMD cannot be executed      127  CMD does not exist

Examples (the store is what the machines have in common):
  export HERDLOCK_STORE=redis://:secret@cache.example:6379
  herdlock elect scheduler -- ./scheduler.sh
  herdlock elect scheduler --ttl 10s --verbose -- ./scheduler.sh
  herdlock elect --diagram mermaid

A password in --store can be read by every user in the list of processes; put
the URL into HERDLOCK_STORE or a file (--store-file) instead. CMD does not get
HERDLOCK_STORE when there is a secret in it.)";

milliseconds rest_argument(std::string const& text) {
  milliseconds const rest = duration_argument("--rest", text);
  if (rest > milliseconds{0} && rest <= std::chrono::hours{1}) return rest;
  throw command_error(exit_code::usage, "--rest must be from 1ms to 1h");
}

std::string store_argument(store_arguments const& arguments) {
  std::string text = store_url_of(arguments);
  store_url const url = value_or_raise(store_url::parse(text));
  if (url.scheme != "memory") return text;
  throw command_error(exit_code::usage,
                      "memory: lives in one process; an election needs a store that processes "
                      "share (sqlite:PATH, redis://…)");
}

}  // namespace

CLI::App* add_elect_command(CLI::App& app, elect_arguments& arguments) {
  CLI::App* const elect = app.add_subcommand(
      "elect", "Run a command on one machine of many; another takes over when it stops");
  usage_line::set(*elect, "herdlock elect NAME [OPTIONS] -- CMD [ARGS…]");
  elect->add_option("NAME", arguments.name, "What is led: the same on all machines");
  add_store_options(*elect, arguments.store);
  elect->add_option("--ttl", arguments.ttl, "A leader that died is replaced after so long")
      ->type_name("TIME")
      ->capture_default_str();
  elect
      ->add_option("--grace", arguments.grace,
                   "How long CMD has between SIGTERM and SIGKILL\n"
                   "(default: a quarter of the ttl, at most 10s)")
      ->type_name("TIME");
  elect
      ->add_option("--candidate", arguments.candidate,
                   "The id under which this candidate leads (default: host:pid:random)")
      ->type_name("ID");
  elect->add_option("--rest", arguments.rest, "The first rest before standing again")
      ->type_name("TIME")
      ->capture_default_str();
  elect->add_option("--terms", arguments.terms, "Stand down after so many terms")->type_name("N");
  elect->add_flag("--once", arguments.once, "Stand down when CMD ends by itself");
  elect->add_flag("--verbose", arguments.verbose, "Tell each transition on standard error");
  elect->add_flag("--json", arguments.json, "The same, each as a line of JSON");
  elect
      ->add_option("--diagram", arguments.diagram,
                   "Print the machine that runs here, as mermaid or graphviz")
      ->type_name("FORMAT");
  elect->footer(elect_footer);
  return elect;
}

std::optional<diagram_format> diagram_asked_for(elect_arguments const& arguments) {
  if (arguments.diagram.empty()) return std::nullopt;
  if (arguments.diagram == "mermaid") return diagram_format::mermaid;
  if (arguments.diagram == "graphviz") return diagram_format::graphviz;
  throw command_error(exit_code::usage, fmt::format("--diagram {}: there are mermaid and graphviz",
                                                    in_quotes(arguments.diagram)));
}

elect_options check(elect_arguments const& arguments) {
  if (arguments.name.empty()) {
    throw command_error(exit_code::usage, "NAME is required, as in: herdlock elect NAME -- CMD");
  }
  resource name = name_argument(arguments.name);
  milliseconds const ttl = duration_argument("--ttl", arguments.ttl);
  if (failure const why = check_ttl(ttl); why.code) raise(why);
  auto const grace = grace_argument(arguments.grace, ttl);
  milliseconds const rest = rest_argument(arguments.rest);
  if (arguments.terms != 0) require_between("--terms", arguments.terms, most_terms);
  if (arguments.command.empty()) {
    throw command_error(exit_code::usage,
                        "no command to run; put it after --, as in: herdlock elect NAME -- CMD");
  }
  auto const log = arguments.json      ? event_form::json
                   : arguments.verbose ? event_form::verbose
                                       : event_form::quiet;
  return elect_options{std::move(name),
                       store_argument(arguments.store),
                       store_choice_of(arguments.store),
                       ttl,
                       grace,
                       rest,
                       arguments.candidate,
                       arguments.terms == 0 ? std::nullopt : std::optional(arguments.terms),
                       arguments.once,
                       log,
                       arguments.command};
}

}  // namespace herdlock::cli
