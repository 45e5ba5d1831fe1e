#include <fmt/format.h>

#include "terminal/exit_code.hpp"
#include "manual/manual.hpp"

namespace herdlock::cli {
namespace {

std::string words_of(command_node const& node) {
  std::string words;
  auto const add = [&](std::string const& word) { words += (words.empty() ? "" : " ") + word; };
  if (node.group) {
    for (CLI::App const* each :
         node.app->get_subcommands([](CLI::App const* one) { return !one->get_group().empty(); })) {
      add(each->get_name());
    }
  }
  for (auto const& name : option_names(*node.app)) add(name);
  return words;
}

// The cases that follow the words typed so far into the tree, and those that answer.
std::string walk(std::vector<command_node> const& all) {
  std::string text;
  for (auto const& each : all) {
    if (each.path != "herdlock") text += (text.empty() ? "'" : "|'") + each.path + "'";
  }
  return text;
}

std::string answers(std::vector<command_node> const& all, char const* line) {
  std::string text;
  for (auto const& each : all) {
    text += fmt::format("    '{}') {} ;;\n", each.path,
                        fmt::format(fmt::runtime(line), words_of(each)));
  }
  return text;
}

std::string for_bash(std::vector<command_node> const& all) {
  return fmt::format(R"(# bash completion of herdlock
_herdlock() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} path=herdlock word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    if [[ $word == -- ]]; then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      return
    fi
    case "$path $word" in
      {}) path="$path $word" ;;
    esac
  done
  case "$path" in
{}  esac
}}
complete -o default -F _herdlock herdlock
)",
                     walk(all),
                     answers(all, "mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")"));
}

std::string for_zsh(std::vector<command_node> const& all) {
  return fmt::format(R"(#compdef herdlock
_herdlock() {{
  local so_far=herdlock word i
  for ((i = 2; i < CURRENT; i++)); do
    word=${{words[i]}}
    if [[ $word == -- ]]; then
      shift $i words
      ((CURRENT -= i))
      _normal
      return
    fi
    case "$so_far $word" in
      {}) so_far="$so_far $word" ;;
    esac
  done
  case "$so_far" in
{}  esac
}}
_herdlock "$@"
)",
                     walk(all), answers(all, "compadd -- {} || _files"));
}

std::string fish_quoted(std::string const& text) {
  std::string out = "'";
  for (char const c : text) {
    if (c == '\n') {
      out += ' ';
      continue;
    }
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// The last command typed decides: `herdlock demo stampede` has the options of `stampede`.
std::string for_fish(std::vector<command_node> const& all) {
  std::string text = "# fish completion of herdlock\n";
  for (auto const& each : all) {
    auto const own = each.app->get_name();
    auto const when = each.path == "herdlock" ? std::string("__fish_use_subcommand")
                                              : "__fish_seen_subcommand_from " + own;
    if (each.group) {
      for (CLI::App const* below : each.app->get_subcommands(
               [](CLI::App const* one) { return !one->get_group().empty(); })) {
        text += fmt::format("complete -c herdlock -n '{}' -f -a {} -d {}\n", when,
                            below->get_name(), fish_quoted(below->get_description()));
      }
    }
    for (CLI::Option const* option : each.app->get_options()) {
      for (auto const& name : option->get_lnames()) {
        bool const takes_a_value = option->get_items_expected_max() > 0;
        text += fmt::format("complete -c herdlock -n '{}' -l {}{} -d {}\n", when, name,
                            takes_a_value ? " -r" : "", fish_quoted(option->get_description()));
      }
    }
  }
  return text;
}

}  // namespace

std::string completion(CLI::App const& root, std::string const& shell) {
  auto const all = commands_of(root);
  if (shell == "bash") return for_bash(all);
  if (shell == "zsh") return for_zsh(all);
  if (shell == "fish") return for_fish(all);
  throw command_error(exit_code::usage,
                      fmt::format("--completion '{}': is none of bash, zsh, fish", shell));
}

}  // namespace herdlock::cli
