#include "terminal/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <herdlock/printable.hpp>
#include <herdlock/version.hpp>

#include "terminal/manual.hpp"
#include "terminal/standard_output.hpp"

namespace herdlock::cli {
namespace {

int fail(std::string_view program, exit_code code, std::string_view line) {
  // One line, whatever a server or an argument had in it.
  std::string text(line);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  // Not fmt::print, which throws when standard error is gone: the exit code still counts.
  std::fputs(fmt::format("{}: {}\n", program, printable(text)).c_str(), stderr);
  return static_cast<int>(code);
}

int fail_to_read(CLI::App const& app, CLI::ParseError const& why) {
  CLI::App const* typed = &app;
  while (!typed->get_subcommands().empty()) typed = typed->get_subcommands().front();
  std::string text = why.what();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return fail(app.get_name(), exit_code::usage,
              fmt::format("{}; {} --help tells what there is", text, path_of(*typed)));
}

std::vector<CLI::App*> all_below(CLI::App& app) {
  return app.get_subcommands([](CLI::App*) { return true; });
}

// CLI11 would call a mistyped command an unexpected argument.
void require_known_command(std::vector<std::string> const& words, CLI::App& app) {
  CLI::App* at = &app;
  for (std::string const& word : words) {
    auto const known = all_below(*at);
    if (known.empty() || word.starts_with('-')) return;
    auto const next = std::find_if(known.begin(), known.end(),
                                   [&](CLI::App* each) { return each->get_name() == word; });
    if (next == known.end()) {
      refuse("{0} {1}: there is no such command; {0} --help lists them", path_of(*at), word);
    }
    at = *next;
  }
}

// In `herdlock show run` and `herdlock hot add list` the last word is a name: behind one command
// CLI11 would take it for another.
void let_names_be_those_of_commands(CLI::App& app) {
  auto const below = all_below(app);
  if (below.empty()) return;
  app.require_subcommand(0, 1);
  for (CLI::App* const each : below) let_names_be_those_of_commands(*each);
}

}  // namespace

command_line::command_line(std::string name, std::string description, std::string footer)
    : app_(std::move(description), name) {
  app_.set_version_flag("--version", name + " " + version, "Print the version");
  app_.footer(std::move(footer));
  app_.formatter(std::make_shared<usage_line>(name + " COMMAND [OPTIONS]"));
}

void command_line::add(std::vector<runnable> commands) {
  for (auto& each : commands) add(std::move(each));
}

CLI::App& command_line::add_help(std::string const& about, std::string const& below) {
  struct questions {
    bool man = false;
    bool commands = false;
    std::string completion;
  };
  auto const asked = std::make_shared<questions>();
  CLI::App& made =
      add_command(app_, "help", about, "[" + below + "--man | --completion SHELL | --commands]");
  made.add_flag("--man", asked->man, "Print the manual page (roff)");
  add_value(made, "--completion", asked->completion, "SHELL",
            "Print the completion of bash, zsh or fish");
  made.add_flag("--commands", asked->commands, "Print the commands, one per line");
  add({&made, [this, asked] {
         bool const shell = !asked->completion.empty();
         fmt::print("{}", shell             ? completion(app_, asked->completion)
                          : asked->man      ? man_page(app_)
                          : asked->commands ? list_of_commands(app_)
                                            : app_.help());
         return 0;
       }});
  return made;
}

int command_line::run(std::vector<std::string> words) {
  let_names_be_those_of_commands(app_);
  require_known_command(words, app_);
  try {
    std::reverse(words.begin(), words.end());
    app_.parse(words);
  } catch (CLI::Success const& e) {  // --help, --version
    return app_.exit(e);
  } catch (CLI::ParseError const& e) {
    return fail_to_read(app_, e);
  }
  for (auto const& [command, go] : commands_) {
    if (!command->parsed() || !command->get_subcommands().empty()) continue;
    int const status = go();
    flush_output();
    return status;
  }
  fmt::print(stderr, "{}", app_.help());
  return static_cast<int>(exit_code::usage);
}

CLI::App& add_command(CLI::App& below, std::string const& name, std::string about,
                      std::string const& usage, std::string footer) {
  CLI::App& made = *below.add_subcommand(name, std::move(about));
  made.formatter(std::make_shared<usage_line>(path_of(made) + " " + usage));
  made.footer(std::move(footer));
  return made;
}

int ended(std::string_view program, std::function<int()> const& work) {
  try {
    return work();
  } catch (command_error const& e) {
    return fail(program, e.code(), e.what());
  } catch (error const& e) {
    return fail(program, exit_code_of(e.code()), e.what());
  } catch (std::exception const& e) {
    return fail(program, exit_code::internal, e.what());
  }
}

}  // namespace herdlock::cli
