#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "common/arguments.hpp"
#include "elect/elect.hpp"
#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

constexpr int most_terms = 1'000'000;

constexpr char const* elect_footer =
#include "elect/elect_help.txt"
    ;

struct elect_arguments {
  work_arguments work;
  std::string rest = "200ms";
  std::string candidate;
  std::string diagram;
  int terms = 0;
  bool once = false;
};

elect_options checked(elect_arguments const& given) {
  work_options work = checked(given.work);
  auto const rest = duration_between("--rest", given.rest, milliseconds{1}, std::chrono::hours{1});
  if (given.terms < 0 || given.terms > most_terms) {
    throw command_error(exit_code::usage, fmt::format("--terms {}: must be between 1 and {}",
                                                      given.terms, most_terms));
  }
  auto const terms = given.terms == 0 ? std::nullopt : std::optional(given.terms);
  return {std::move(work), rest, given.candidate, terms, given.once};
}

int elect_or_draw(elect_arguments const& given) {
  if (given.diagram.empty()) return elect(checked(given));
  auto const format = choice_argument<diagram_format>(
      "--diagram", given.diagram,
      {{"mermaid", diagram_format::mermaid}, {"graphviz", diagram_format::graphviz}});
  fmt::print("{}", election_diagram(format));
  return 0;
}

}  // namespace

runnable add_elect_command(CLI::App& app, std::vector<std::string> command) {
  auto const given = std::make_shared<elect_arguments>();
  given->work.command = std::move(command);
  CLI::App& elect_app = add_command(
      app, "elect", "Run a command on one machine of many; another takes over when it stops",
      "NAME [OPTIONS] -- CMD [ARGS…]", elect_footer);
  add_work_options(elect_app, given->work,
                   {.name = "What is led: the same on all machines",
                    .ttl = "A leader that died is replaced after so long",
                    .verbose = "Tell each transition on standard error"});
  add_value(elect_app, "--candidate", given->candidate, "ID",
            "The id under which this candidate leads (default: host:pid:random)");
  add_value(elect_app, "--rest", given->rest, "TIME", "The first rest before standing again");
  elect_app.add_option("--terms", given->terms, "Stand down after so many terms")->type_name("N");
  elect_app.add_flag("--once", given->once, "Stand down when CMD ends by itself");
  add_value(elect_app, "--diagram", given->diagram, "FORMAT",
            "Print the machine that runs here, as mermaid or graphviz");
  return {&elect_app, [given] { return elect_or_draw(*given); }};
}

}  // namespace herdlock::cli
