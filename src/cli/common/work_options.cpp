#include "common/work_options.hpp"

#include "common/arguments.hpp"
#include "terminal/command_line.hpp"
#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

std::optional<milliseconds> stop_grace_argument(std::string const& text, milliseconds ttl) {
  if (text.empty()) return std::nullopt;
  milliseconds const stop_grace = duration_argument("--grace", text);
  if (stop_grace < ttl && stop_grace * 2 < ttl) return stop_grace;
  refuse(
      "--grace {} is not less than half of the ttl ({}); choose a longer --ttl or a shorter "
      "--grace",
      text, say(ttl));
}

void require(bool holds, work_arguments const& given, char const* else_said) {
  if (!holds) refuse("{}, as in: herdlock {} NAME -- CMD", else_said, given.app->get_name());
}

}  // namespace

stopping_times work_options::stopping_in(store const& in) const {
  auto const proved = in.traits().longest_validity;
  auto const term = proved > milliseconds{0} ? std::min(proved, ttl) : ttl;
  auto const taken = stop_grace.value_or(std::min(milliseconds{10'000}, term / 4));
  if (taken * 2 < term) return {taken, stop_notice(taken, term)};
  refuse(
      "--grace {} is not less than half of the {} for which {} proves a lease at a time; choose a "
      "shorter --grace",
      say(taken), say(term), in.display_name());
}

void add_work_options(CLI::App& app, work_arguments& into, work_words const& about) {
  into.app = &app;
  app.add_option("NAME", into.name, about.name);
  add_store_options(app, into.store);
  add_value(app, "--ttl", into.ttl, "TIME", about.ttl);
  add_value(app, "--grace", into.stop_grace, "TIME",
            "How long CMD has between SIGTERM and SIGKILL before the lease can be another's\n"
            "(default: a quarter of the ttl, at most 10s)");
  app.add_flag("--verbose", into.verbose, about.verbose);
  app.add_flag("--json", into.json, "The same, each as a line of JSON");
}

work_options checked(work_arguments const& given) {
  require(!given.name.empty(), given, "NAME must be there, and not empty");
  resource name = name_argument(given.name);
  milliseconds const ttl = duration_argument("--ttl", given.ttl);
  if (failure const why = check_ttl(ttl); why.code) raise(why);
  auto const stop_grace = stop_grace_argument(given.stop_grace, ttl);
  require(!given.command.empty(), given, "no command to run; put it after --");
  auto const log = given.json      ? event_form::json
                   : given.verbose ? event_form::verbose
                                   : event_form::quiet;
  return {std::move(name), shared_store_of(given.store), ttl, stop_grace, log, given.command};
}

}  // namespace herdlock::cli
