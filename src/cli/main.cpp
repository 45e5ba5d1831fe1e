// The herdlock command: reads the arguments, calls one subcommand, turns errors into one line.
#include <algorithm>

#include "commands.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/notice.hpp"

namespace {

using namespace herdlock::cli;

constexpr char const* description =
    "herdlock: one holder at a time, one load per miss: across threads, processes and machines.";

constexpr char const* footer =
#include "main_help.txt"
    ;

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

// The release after 0.1.0 no longer knows these two words.
void tell_what_has_moved(std::vector<std::string> const& words) {
  if (words.empty() || (words[0] != "demo" && words[0] != "bench")) return;
  std::string const scene = words.size() > 1 && !words[1].starts_with('-') ? words[1] : "--help";
  refuse("herdlock {} has become a program of its own: herdlock-lab {}", words[0], scene);
}

int dispatch(std::vector<std::string> words) {
  tell_what_has_moved(words);
  auto const command = split_command(words);
  command_line program("herdlock", description, footer);
  program.add(add_run_command(program.app(), command));
  program.add(add_elect_command(program.app(), command));
  program.add(add_look_commands(program.app()));
  program.add(add_doctor_command(program.app()));
  program.add(add_hot_commands(program.app()));
  CLI::App& help =
      program.add_help("The options of store URLs; manual page and completion", "options | ");
  program.add(add_url_options_command(help));
  return program.run(std::move(words));
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  return ended("herdlock", [&] { return dispatch({argv + 1, argv + argc}); });
}
