// The herdlock command: reads the arguments, calls one subcommand, turns errors into one line.
#include <fmt/format.h>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>

#include "scenes/soak.hpp"
#include "scenes/stores.hpp"
#include "scenes/takeover.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/notice.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/usage_line.hpp"
#include "scenes/election.hpp"
#include "scenes/hotkey.hpp"
#include "scenes/near.hpp"
#include "scenes/stampede.hpp"
#include "scenes/worker.hpp"
#include "doctor/doctor.hpp"
#include "elect/elect.hpp"
#include "hot/hot.hpp"
#include "look/commands.hpp"
#include "manual/manual.hpp"
#include "run/run.hpp"

namespace {

using namespace herdlock::cli;

constexpr char const* description =
    "herdlock: one holder at a time, one load per miss: across threads, processes and machines.";

constexpr char const* footer = R"(
Try first:
  herdlock demo stampede                 what a guard does for a hot cache entry
  herdlock run nightly -- ./backup.sh    never two of them at a time
  herdlock elect chief --store redis://cache.example -- ./serve.sh
                                         on one of many machines, always
  herdlock show nightly                  who holds it, who waits
  herdlock doctor                        what is wrong with the store?
  herdlock hot --watch                   which keys are used most, and how often
  herdlock bench soak                    is a lock on this store ever broken?

`herdlock COMMAND --help` tells about each, `herdlock help options` what store
URLs may have. Exit status: that of the command that was run; 64 usage, 69
store unavailable, 75 busy, 76 lease lost.)";

struct arguments {
  run_arguments run;
  elect_arguments elect;
  stampede_arguments stampede;
  election_demo_options election;
  near_arguments near;
  hotkey_arguments hotkey;
  soak_options soak;
  stores_options stores;
  look_arguments look;
  doctor_arguments doctor;
  hot_arguments hot;
  takeover_options takeover;
  help_arguments help;
};

int fail(exit_code code, std::string_view line) {
  // One line, whatever a server or an argument had in it.
  std::string text(line);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  // Not fmt::print, which throws when standard error is gone: the exit code still counts.
  std::fputs(fmt::format("herdlock: {}\n", herdlock::printable(text)).c_str(), stderr);
  return static_cast<int>(code);
}

// `herdlock run NAME … -- CMD…`, and `elect`: what stands behind the first `--` is the command's
// own.
std::vector<std::string> split_command(std::vector<std::string>& words) {
  auto const dashes = std::find(words.begin(), words.end(), "--");
  bool const takes_one = !words.empty() && (words.front() == "run" || words.front() == "elect");
  if (!takes_one || dashes == words.end()) return {};
  std::vector<std::string> command(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return command;
}

std::string in_one_line(CLI::ParseError const& e, std::string const& help) {
  std::string text = e.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return fmt::format("{}; {} --help tells what there is", text, help);
}

std::string deepest(CLI::App const& app) {
  std::string name = "herdlock";
  CLI::App const* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  return name;
}

// CLI11 would call a mistyped command an unexpected argument.
void require_known_command(std::vector<std::string> const& words, CLI::App const& app) {
  CLI::App const* at = &app;
  std::string so_far = "herdlock";
  for (std::string const& word : words) {
    auto const known = at->get_subcommands([](CLI::App const*) { return true; });
    if (known.empty() || word.starts_with('-')) return;
    auto const next = std::find_if(known.begin(), known.end(),
                                   [&](CLI::App const* each) { return each->get_name() == word; });
    if (next == known.end()) {
      throw command_error(exit_code::usage, fmt::format("{} {}: there is no such command; {} "
                                                        "--help lists them",
                                                        so_far, word, so_far));
    }
    at = *next;
    so_far += " " + word;
  }
}

// In `herdlock show run` and `herdlock hot add list` the last word is a name: behind one command
// CLI11 would take it for another.
void let_names_be_those_of_commands(CLI::App& app) {
  auto const below = app.get_subcommands([](CLI::App*) { return true; });
  if (below.empty()) return;
  app.require_subcommand(0, 1);
  for (CLI::App* const each : below) let_names_be_those_of_commands(*each);
}

// What only looks at a store, and `release`.
std::vector<runnable> add_looks(CLI::App& app, arguments& given) {
  auto looks = add_look_commands(app, given.look);
  looks.push_back(add_doctor_command(app, given.doctor));
  looks.push_back(add_hot_command(app, given.hot));
  return looks;
}

std::vector<runnable> add_demos(CLI::App& demo, arguments& given) {
  return {{add_stampede_command(demo, given.stampede),
           [&given] { return stampede(check(given.stampede)); }},
          {add_election_command(demo, given.election),
           [&given] {
             check(given.election);
             return election_demo(given.election);
           }},
          {add_near_command(demo, given.near), [&given] { return near_demo(check(given.near)); }},
          {add_hotkey_command(demo, given.hotkey),
           [&given] { return hotkey_demo(check(given.hotkey)); }}};
}

int all_printed(int status) {
  flush_output();
  return status;
}

int dispatch(std::vector<std::string> words) {
  arguments given;
  given.run.command = split_command(words);
  given.elect.command = given.run.command;
  CLI::App app(description, "herdlock");
  app.set_version_flag("--version", "herdlock " HERDLOCK_VERSION, "Print the version");
  app.footer(footer);
  usage_line::set(app, "herdlock COMMAND [OPTIONS]");
  CLI::App* const run_app = add_run_command(app, given.run);
  CLI::App* const elect_app = add_elect_command(app, given.elect);
  auto const looks = add_looks(app, given);
  CLI::App* const demo_app = app.add_subcommand("demo", "Shows that run on this machine");
  usage_line::set(*demo_app, "herdlock demo NAME [OPTIONS]");
  auto const demos = add_demos(*demo_app, given);
  CLI::App* const bench_app = app.add_subcommand("bench", "Measure and try a store");
  usage_line::set(*bench_app, "herdlock bench NAME [OPTIONS]");
  CLI::App* const soak_app = add_soak_command(*bench_app, given.soak);
  CLI::App* const stores_app = add_stores_command(*bench_app, given.stores);
  CLI::App* const takeover_app = add_takeover_command(*bench_app, given.takeover);
  CLI::App* const help_app = add_help_command(app, given.help);
  let_names_be_those_of_commands(app);

  require_known_command(words, app);
  try {
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (CLI::Success const& e) {  // --help, --version
    return app.exit(e);
  } catch (CLI::ParseError const& e) {
    return fail(exit_code::usage, in_one_line(e, deepest(app)));
  }
  if (help_app->parsed()) return help(app, given.help);
  if (run_app->parsed()) return run(check(given.run));
  if (elect_app->parsed()) {
    auto const picture = diagram_asked_for(given.elect);
    return picture ? print_diagram(*picture) : elect(check(given.elect));
  }
  for (auto const& [command, go] : looks) {
    if (command->parsed()) return all_printed(go());
  }
  // They have temporary folders and processes, which nobody clears up behind a SIGPIPE.
  if (demo_app->parsed() || bench_app->parsed()) prepare_standard_streams();
  for (auto const& [command, go] : demos) {
    if (command->parsed()) return go();
  }
  if (soak_app->parsed()) {
    check(given.soak);
    return soak(given.soak);
  }
  if (stores_app->parsed()) {
    check(given.stores);
    return bench_stores(given.stores);
  }
  if (takeover_app->parsed()) {
    check(given.takeover);
    return bench_takeover(given.takeover);
  }
  for (CLI::App const* group : {demo_app, bench_app}) {
    if (!group->parsed()) continue;
    fmt::print("{}", group->help());
    return 0;
  }
  fmt::print(stderr, "{}", app.help());
  return static_cast<int>(exit_code::usage);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == worker_command) return run_worker();
  try {
    return dispatch(std::move(words));
  } catch (command_error const& e) {
    return fail(e.code(), e.what());
  } catch (herdlock::error const& e) {
    return fail(exit_code_of(e.code()), e.what());
  } catch (std::exception const& e) {
    return fail(exit_code::internal, e.what());
  }
}
