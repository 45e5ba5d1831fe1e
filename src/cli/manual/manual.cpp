#include "manual/manual.hpp"

#include <fmt/format.h>

#include "terminal/usage_line.hpp"

namespace herdlock::cli {
namespace {

// A group that only lists its commands has no option but --help.
bool has_work_of_its_own(CLI::App const& group) {
  return group.get_parent() != nullptr && group.get_options().size() > 1;
}

void collect(CLI::App const& at, std::string const& path, std::vector<command_node>& into) {
  auto const below =
      at.get_subcommands([](CLI::App const* one) { return !one->get_group().empty(); });
  into.push_back({path, &at, !below.empty(), below.empty() || has_work_of_its_own(at)});
  for (CLI::App const* one : below) collect(*one, path + " " + one->get_name(), into);
}

}  // namespace

std::vector<command_node> commands_of(CLI::App const& root) {
  std::vector<command_node> all;
  collect(root, "herdlock", all);
  return all;
}

std::vector<std::string> option_names(CLI::App const& app) {
  std::vector<std::string> names;
  for (CLI::Option const* each : app.get_options()) {
    if (each->get_group().empty()) continue;
    for (auto const& name : each->get_snames()) names.push_back("-" + name);
    for (auto const& name : each->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

CLI::App* add_help_command(CLI::App& app, help_arguments& arguments) {
  CLI::App* made =
      app.add_subcommand("help", "The options of store URLs; manual page and completion");
  usage_line::set(*made, "herdlock help [options | --man | --completion SHELL | --commands]");
  add_url_options_command(*made, arguments.options);
  made->add_flag("--man", arguments.man, "Print the manual page (roff)");
  made->add_option("--completion", arguments.completion,
                   "Print the completion of bash, zsh or fish")
      ->type_name("SHELL");
  made->add_flag("--commands", arguments.commands, "Print the commands, one per line");
  return made;
}

int help(CLI::App const& root, help_arguments const& arguments) {
  if (root.get_subcommand("help")->got_subcommand("options")) {
    return print_url_options(arguments.options);
  }
  if (!arguments.completion.empty()) {
    fmt::print("{}", completion(root, arguments.completion));
  } else if (arguments.man) {
    fmt::print("{}", man_page(root));
  } else if (arguments.commands) {
    for (auto const& each : commands_of(root)) {
      if (each.acts) fmt::print("{}\n", each.path);
    }
  } else {
    fmt::print("{}", root.help());
  }
  return 0;
}

}  // namespace herdlock::cli
