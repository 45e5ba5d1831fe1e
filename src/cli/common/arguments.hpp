// Arguments that mean the same to several commands.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <herdlock/types.hpp>
#include <vector>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {

/// Throws command_error (usage) also for what a resource may be, but nobody means to type: a name
/// with control characters, which would hide in a terminal and break lines.
inline resource name_argument(std::string const& text) {
  result<resource> name = resource::parse(text);
  if (!name) raise(name.error());
  auto const hidden = [](unsigned char c) { return c < ' ' || c == 127; };
  if (std::any_of(text.begin(), text.end(), hidden)) {
    refuse("the name {} has control characters in it", in_quotes(text));
  }
  return std::move(*name);
}

/// What the word stands for. Throws command_error (usage) for another word.
template <class T>
T choice_argument(std::string_view option, std::string const& text,
                  std::initializer_list<std::pair<char const*, T>> choices) {
  std::vector<char const*> words;
  for (auto const& [word, meant] : choices) {
    if (text == word) return meant;
    words.push_back(word);
  }
  refuse("{} {} is none of {}", option, in_quotes(text), fmt::join(words, ", "));
}

}  // namespace herdlock::cli
