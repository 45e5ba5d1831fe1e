#include "terminal/manual.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <herdlock/version.hpp>

#include "terminal/code_point.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

constexpr char const* bash_script =
#include "terminal/completion_bash.txt"
    ;

constexpr char const* zsh_script =
#include "terminal/completion_zsh.txt"
    ;

// A command and what --help shows of it: hidden ones are left out, here and below.
struct command_node {
  CLI::App const* app;
  std::string path;
  std::vector<CLI::App const*> below;
  std::vector<CLI::Option const*> options;

  // It does something by itself: `herdlock hot`, but not a group that only lists its commands,
  // which has no option but --help, nor the program without a command.
  bool acts() const {
    return below.empty() || (app->get_parent() != nullptr && app->get_options().size() > 1);
  }
};

using nodes = std::vector<command_node>;

// The command itself, and all below it.
nodes commands_of(CLI::App const& root) {
  auto const is_shown = [](auto const* one) { return !one->get_group().empty(); };
  auto const below = root.get_subcommands(is_shown);
  nodes all{{&root, path_of(root), below, root.get_options(is_shown)}};
  for (CLI::App const* one : below) {
    for (auto& each : commands_of(*one)) all.push_back(std::move(each));
  }
  return all;
}

// `-h`, `--help`; none for what its place names.
std::vector<std::string> names_of(CLI::Option const& option) {
  std::vector<std::string> names;
  for (auto const& name : option.get_snames()) names.push_back("-" + name);
  for (auto const& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_a_value(CLI::Option const& one) { return one.get_items_expected_max() > 0; }

// Text that means nothing to roff, in ASCII, which every roff takes.
std::string plain(std::string_view text) {
  std::string out;
  bool line_begins = true;
  while (!text.empty()) {
    auto const [point, length] = code_point(text);
    if (line_begins && (point == '.' || point == '\'')) out += "\\&";
    line_begins = point == '\n';
    if (point >= 0x80) {
      out += fmt::format("\\[u{:04X}]", point);
    } else if (point == '\\') {
      out += "\\e";
    } else if (point == '-') {
      out += "\\-";
    } else {
      out += static_cast<char>(point);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string in_one_paragraph(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string usage_of(command_node const& node) {
  return plain(dynamic_cast<usage_line const&>(*node.app->get_formatter()).line());
}

std::string option_head(CLI::Option const& option) {
  std::vector<std::string> names;
  for (auto const& name : names_of(option)) names.push_back("\\fB" + plain(name) + "\\fR");
  if (names.empty()) return "\\fI" + plain(option.get_name(true)) + "\\fR";
  if (takes_a_value(option)) names.back() += " \\fI" + plain(option.get_type_name()) + "\\fR";
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string option_text(CLI::Option const& option) {
  std::string text = in_one_paragraph(option.get_description()) + ".";
  if (!option.get_default_str().empty()) {
    text += fmt::format(" Default: {}.", option.get_default_str());
  }
  if (!option.get_envname().empty()) text += fmt::format(" Also {}.", option.get_envname());
  return plain(text);
}

// What --help says in lines of its own, as it stands there.
std::string as_it_stands(std::string const& text) {
  if (text.empty()) return {};
  return ".PP\n.nf\n" + plain(text.front() == '\n' ? text.substr(1) : text) + "\n.fi\n";
}

std::string command_section(command_node const& node) {
  std::string text =
      fmt::format(".SS \"{}\"\n{}.\n.PP\n\\fB{}\\fR\n", plain(node.path),
                  plain(in_one_paragraph(node.app->get_description())), usage_of(node));
  for (auto const* each : node.options) {
    text += fmt::format(".TP\n{}\n{}\n", option_head(*each), option_text(*each));
  }
  return text + as_it_stands(node.app->get_footer());
}

std::string words_of(command_node const& node) {
  std::vector<std::string> words;
  for (auto const* each : node.below) words.push_back(each->get_name());
  for (auto const* each : node.options) {
    for (auto& name : names_of(*each)) words.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// `answer`: how the shell is given the words that may follow.
std::string from_script(char const* script, char const* answer, nodes const& all) {
  std::string const& program = all.front().path;
  std::string function = "_" + program;
  std::replace(function.begin(), function.end(), '-', '_');
  std::string steps;  // the cases that follow the words typed so far into the tree
  std::string answers;
  for (auto const& each : all) {
    if (&each != &all.front()) steps += (steps.empty() ? "'" : "|'") + each.path + "'";
    answers += fmt::format("    '{}') {} ;;\n", each.path,
                           fmt::format(fmt::runtime(answer), words_of(each)));
  }
  return fmt::format(fmt::runtime(script), program, function, steps, answers);
}

std::string fish_quoted(std::string const& text) {
  std::string out = "'";
  for (char const c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

// The last command typed decides: `herdlock hot add` has the options of `add`.
std::string for_fish(nodes const& all) {
  std::string const& program = all.front().path;
  std::string text = fmt::format("# fish completion of {}\n", program);
  for (auto const& each : all) {
    auto const when = &each == &all.front() ? std::string("__fish_use_subcommand")
                                            : "__fish_seen_subcommand_from " + each.app->get_name();
    auto const add = [&](std::string const& what, std::string const& about) {
      text +=
          fmt::format("complete -c {} -n '{}' {} -d {}\n", program, when, what, fish_quoted(about));
    };
    for (auto const* below : each.below) {
      add("-f -a " + below->get_name(), below->get_description());
    }
    for (auto const* option : each.options) {
      for (auto const& name : option->get_lnames()) {
        add("-l " + name + (takes_a_value(*option) ? " -r" : ""), option->get_description());
      }
    }
  }
  return text;
}

}  // namespace

std::string path_of(CLI::App const& command) {
  auto const* const parent = command.get_parent();
  return parent ? path_of(*parent) + " " + command.get_name() : command.get_name();
}

std::string list_of_commands(CLI::App const& root) {
  std::string text;
  for (auto const& each : commands_of(root)) {
    if (each.acts()) text += each.path + "\n";
  }
  return text;
}

std::string man_page(CLI::App const& root) {
  std::string const& name = root.get_name();
  std::string head = name;
  for (char& c : head) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string does = in_one_paragraph(root.get_description());
  if (does.starts_with(name + ": ")) does.erase(0, name.size() + 2);
  std::string usages;
  std::string sections;
  for (auto const& each : commands_of(root)) {
    if (!each.acts()) continue;
    usages += usage_of(each) + "\n";
    sections += command_section(each);
  }
  return fmt::format(
      ".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.nf\n{}.fi\n"
      ".SH DESCRIPTION\n{}\n{}.SH COMMANDS\n{}",
      head, name, version, plain(name), plain(does), usages, plain(does),
      as_it_stands(root.get_footer()), sections);
}

std::string completion(CLI::App const& root, std::string const& shell) {
  auto const all = commands_of(root);
  if (shell == "bash") {
    return from_script(bash_script, "mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")", all);
  }
  if (shell == "zsh") return from_script(zsh_script, "compadd -- {} || _files", all);
  if (shell == "fish") return for_fish(all);
  refuse("--completion '{}': is none of bash, zsh, fish", shell);
}

}  // namespace herdlock::cli
