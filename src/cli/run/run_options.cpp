#include <memory>

#include "commands.hpp"
#include "common/arguments.hpp"
#include "run/run.hpp"
#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

constexpr char const* run_footer =
#include "run/run_help.txt"
    ;

struct run_arguments {
  work_arguments work;
  std::string wait = "none";
  std::string max_hold;
  std::string min_hold;
  std::string once_per;
  std::string retry = "none";
  std::string on_loss = "term";
  std::string if_busy = "fail";
  bool once = false;  // --try
};

milliseconds wait_argument(char const* option, std::string const& text) {
  if (text == "none") return milliseconds{0};
  if (text == "forever") return wait_forever;
  return duration_argument(option, text);
}

milliseconds hold_argument(char const* option, std::string const& text) {
  if (text.empty()) return milliseconds{0};
  return duration_between(option, text, limits::min_ttl, limits::max_ttl);
}

run_options checked(run_arguments const& given) {
  run_options asked{.work = checked(given.work), .times = {}};
  auto& [wait, retry, min_hold, once_per, ttl] = asked.times;
  ttl = asked.work.ttl;
  wait = wait_argument("--wait", given.once ? "none" : given.wait);
  asked.on_loss = choice_argument<loss_policy>(
      "--on-loss", given.on_loss,
      {{"term", loss_policy::term}, {"kill", loss_policy::kill}, {"ignore", loss_policy::ignore}});
  asked.if_busy = choice_argument<busy_policy>(
      "--if-busy", given.if_busy, {{"fail", busy_policy::fail}, {"quiet", busy_policy::quiet}});
  if (!given.max_hold.empty()) {
    asked.max_hold =
        duration_between("--max-hold", given.max_hold, milliseconds{1}, limits::max_ttl);
  }
  min_hold = hold_argument("--min-hold", given.min_hold);
  once_per = hold_argument("--once-per", given.once_per);
  if (once_per > milliseconds{0} && min_hold > once_per) {
    refuse("--min-hold must not be longer than --once-per");
  }
  if (asked.max_hold && min_hold > *asked.max_hold) {
    refuse("--min-hold must not be longer than --max-hold");
  }
  retry = wait_argument("--retry", given.retry);
  return asked;
}

}  // namespace

runnable add_run_command(CLI::App& app, std::vector<std::string> command) {
  auto const given = std::make_shared<run_arguments>();
  given->work.command = std::move(command);
  CLI::App& run_app = add_command(app, "run", "Run a command while holding a lease",
                                  "NAME [OPTIONS] -- CMD...", run_footer);
  add_work_options(run_app, given->work,
                   {.name = "The resource, always needed: 1 to 512 bytes",
                    .ttl = "The lease ends by itself so long after the last renewal",
                    .verbose = "Tell on standard error what becomes of the lease"});
  auto* const wait =
      add_value(run_app, "--wait", given->wait, "TIME",
                "How long to wait while another holds it, from the start on: a time, none,\n"
                "forever");
  run_app.add_flag("--try", given->once, "The same as --wait none")->excludes(wait);
  add_value(run_app, "--on-loss", given->on_loss, "WHAT",
            "What CMD gets when the lease cannot be renewed, --grace before it ends:\n"
            "term: SIGTERM, then SIGKILL; kill: SIGKILL; ignore: nothing, it runs on");
  add_value(run_app, "--if-busy", given->if_busy, "WHAT",
            "When another holds it: fail: a line, status 75; quiet: nothing, status 0,\n"
            "as for cron; a store that cannot be used is told all the same");
  add_value(run_app, "--max-hold", given->max_hold, "TIME",
            "Renew no more after so long, for work that could hang: the lease is lost\n"
            "at most one ttl later, as above");
  add_value(run_app, "--min-hold", given->min_hold, "TIME",
            "Keep the lease so long from its grant, however CMD ends, so that short work\n"
            "does not run again on a machine whose clock is behind");
  add_value(run_app, "--once-per", given->once_per, "TIME",
            "After success leave the lease, as done, until its grant is so old: who comes\n"
            "before ends with status 0. Shorter than the schedule: 23h for a nightly job");
  add_value(run_app, "--retry", given->retry, "TIME",
            "How long to go on trying while the store is away: a time, none, forever;\n"
            "--wait does so, too");
  return {&run_app, [given] { return run(checked(*given)); }};
}

}  // namespace herdlock::cli
