// What a program of ours says about itself: of every command that there is, whoever added it.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <support/program_run.hpp>
#include <support/temp_dir.hpp>
#include <vector>

namespace herdlock_test {

class program_help {
 public:
  explicit program_help(std::string program)
      : program_(std::move(program)), commands_(lines_of(run({"help", "--commands"}).out)) {}

  /// `herdlock hot add`, …
  std::vector<std::string> const& commands() const { return commands_; }
  command_result run(std::vector<std::string> words) const {
    return result_of(start_program(program_.c_str(), std::move(words), {}));
  }
  std::string help_of(std::string const& command) const {
    auto words = words_of(command);
    words.push_back("--help");
    auto const help = run(words);
    EXPECT_EQ(help.code, 0) << command;
    return help.out;
  }
  static bool has(std::string const& text, std::string const& part) {
    return text.find(part) != std::string::npos;
  }
  /// Without the program's name.
  static std::vector<std::string> words_of(std::string const& command) {
    std::istringstream in(command);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    words.erase(words.begin());
    return words;
  }
  static std::set<std::string> options_in(std::string const& help) {
    std::set<std::string> found;
    // An option stands at the beginning of its line: a footer names others.
    std::regex const option("^  (?:-[a-zA-Z],? ?)?(--[a-z][a-z-]+)");
    for (auto const& line : lines_of(help)) {
      std::smatch at;
      if (std::regex_search(line, at, option)) found.insert(at[1]);
    }
    return found;
  }

  void expect_usage_lines_and_json(std::set<std::string> const& without_json) const {
    for (auto const& path : commands_) {
      auto const help = help_of(path);
      EXPECT_TRUE(has(help, "Usage: " + path)) << path;
      EXPECT_TRUE(options_in(help).contains("--json") || without_json.contains(path)) << path;
    }
  }

  void expect_a_manual_page() const {
    auto const man = run({"help", "--man"});
    ASSERT_EQ(man.code, 0);
    for (auto const& path : commands_) {
      auto const begin = man.out.find(".SS \"" + in_roff(path) + "\"\n");
      ASSERT_NE(begin, std::string::npos) << path;
      auto const section = man.out.substr(begin, man.out.find(".SS", begin + 1) - begin);
      for (auto const& option : options_in(help_of(path))) {
        EXPECT_TRUE(has(section, "\\fB" + in_roff(option) + "\\fR")) << path << " " << option;
      }
    }
  }

  void expect_completion_by_bash() const {
    temp_dir folder;
    auto const script = (folder.path() / "completion").string();
    run_command({.argv = {"sh", "-c", "\"$0\" help --completion bash > \"$1\"", program_, script}});
    for (auto const& path : commands_) {
      auto const answer = run_command(
          {.argv = {"bash", "-c",
                    "source \"$1\"; COMP_WORDS=($2 --); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
                    "_${COMP_WORDS[0]//-/_}; printf '%s\\n' \"${COMPREPLY[@]}\"",
                    "bash", script, path}});
      auto const offered = lines_of(answer);
      std::set<std::string> const found(offered.begin(), offered.end());
      for (auto const& option : options_in(help_of(path))) {
        EXPECT_TRUE(found.contains(option)) << path << " " << option << "\n" << answer;
      }
    }
  }

  void expect_completion_by_other_shells() const {
    auto const zsh = run({"help", "--completion", "zsh"}).out;
    auto const fish = run({"help", "--completion", "fish"}).out;
    for (auto const& path : commands_) {
      EXPECT_TRUE(has(zsh, "'" + path + "')")) << path;
      EXPECT_TRUE(has(fish, " -a " + words_of(path).back() + " ")) << path;
    }
    EXPECT_EQ(run({"help", "--completion", "tcsh"}).code, 64);
  }

 private:
  static std::string in_roff(std::string const& text) {
    return std::regex_replace(text, std::regex("-"), "\\-");
  }

  std::string const program_;
  std::vector<std::string> const commands_;
};

}  // namespace herdlock_test
