#include <fmt/format.h>

#include <algorithm>

#include "terminal/exit_code.hpp"
#include "terminal/manual.hpp"

namespace herdlock::cli {
namespace {

using nodes = std::vector<command_node>;

std::string words_of(command_node const& node) {
  std::string words;
  auto const add = [&](std::string const& word) { words += (words.empty() ? "" : " ") + word; };
  for (auto const* each : node.below) add(each->get_name());
  for (auto const* option : node.app->get_options()) {
    if (option->get_group().empty()) continue;
    for (auto const& name : option->get_snames()) add("-" + name);
    for (auto const& name : option->get_lnames()) add("--" + name);
  }
  return words;
}

// The name of the function in a shell.
std::string function_of(std::string const& program) {
  std::string name = "_" + program;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// The cases that follow the words typed so far into the tree, and those that answer.
std::string walk(nodes const& all) {
  std::string text;
  for (auto const& each : all) {
    if (&each != &all.front()) text += (text.empty() ? "'" : "|'") + each.path + "'";
  }
  return text;
}

std::string answers(nodes const& all, char const* line) {
  std::string text;
  for (auto const& each : all) {
    text += fmt::format("    '{}') {} ;;\n", each.path,
                        fmt::format(fmt::runtime(line), words_of(each)));
  }
  return text;
}

std::string for_bash(std::string const& program, nodes const& all) {
  return fmt::format(R"(# bash completion of {0}
{1}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} path={0} word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    if [[ $word == -- ]]; then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      return
    fi
    case "$path $word" in
      {2}) path="$path $word" ;;
    esac
  done
  case "$path" in
{3}  esac
}}
complete -o default -F {1} {0}
)",
                     program, function_of(program), walk(all),
                     answers(all, "mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")"));
}

std::string for_zsh(std::string const& program, nodes const& all) {
  return fmt::format(R"(#compdef {0}
{1}() {{
  local so_far={0} word i
  for ((i = 2; i < CURRENT; i++)); do
    word=${{words[i]}}
    if [[ $word == -- ]]; then
      shift $i words
      ((CURRENT -= i))
      _normal
      return
    fi
    case "$so_far $word" in
      {2}) so_far="$so_far $word" ;;
    esac
  done
  case "$so_far" in
{3}  esac
}}
{1} "$@"
)",
                     program, function_of(program), walk(all),
                     answers(all, "compadd -- {} || _files"));
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
std::string for_fish(std::string const& program, nodes const& all) {
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
    for (CLI::Option const* option : each.app->get_options()) {
      if (option->get_group().empty()) continue;
      std::string const value = option->get_items_expected_max() > 0 ? " -r" : "";
      for (auto const& name : option->get_lnames()) {
        add("-l " + name + value, option->get_description());
      }
    }
  }
  return text;
}

}  // namespace

std::string completion(CLI::App const& root, std::string const& shell) {
  auto const all = commands_of(root);
  if (shell == "bash") return for_bash(root.get_name(), all);
  if (shell == "zsh") return for_zsh(root.get_name(), all);
  if (shell == "fish") return for_fish(root.get_name(), all);
  throw command_error(exit_code::usage,
                      fmt::format("--completion '{}': is none of bash, zsh, fish", shell));
}

}  // namespace herdlock::cli
