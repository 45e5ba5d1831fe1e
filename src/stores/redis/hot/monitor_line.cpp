#include "stores/redis/hot/monitor_line.hpp"

#include <cstdint>

#include "stores/common/numbers.hpp"

namespace herdlock::redis {
namespace {

// What stands behind a backslash; takes it off.
std::optional<char> unescape(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  char const what = rest.front();
  rest.remove_prefix(1);
  switch (what) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'x': {
      auto const byte = whole_number<unsigned char>(rest.substr(0, 2), 16);
      if (!byte || rest.size() < 2) return std::nullopt;
      rest.remove_prefix(2);
      return static_cast<char>(*byte);
    }
    default:
      return what;  // a backslash, or a quotation mark
  }
}

// In quotation marks. Nothing when it does not end.
std::optional<std::string> take_word(std::string_view& rest) {
  if (rest.empty() || rest.front() != '"') return std::nullopt;
  rest.remove_prefix(1);
  std::string word;
  while (!rest.empty()) {
    char const c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return word;
    if (c != '\\') {
      word += c;
      continue;
    }
    auto const meant = unescape(rest);
    if (!meant) return std::nullopt;
    word += *meant;
  }
  return std::nullopt;
}

// Up to the mark, which is taken off, too.
std::optional<std::string_view> take_until(std::string_view& rest, std::string_view mark) {
  auto const at = rest.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  auto const taken = rest.substr(0, at);
  rest.remove_prefix(at + mark.size());
  return taken;
}

}  // namespace

std::optional<monitor_line> parse_monitor_line(std::string_view line, std::size_t most_words,
                                               line_part is) {
  monitor_line read;
  if (!take_until(line, " [")) return std::nullopt;
  auto const database = take_until(line, " ");
  auto const client = database ? take_until(line, "] ") : std::nullopt;
  auto const number = client ? whole_number<int>(*database) : std::nullopt;
  if (!number || *number < 0) return std::nullopt;
  read.database = *number;
  read.by_script = *client == "lua";
  while (read.words.size() < most_words) {
    auto word = take_word(line);
    if (!word && is == line_part::beginning) break;
    if (!word) return std::nullopt;
    read.words.push_back(*std::move(word));
    if (line.empty()) break;
    if (line.front() != ' ') return std::nullopt;
    line.remove_prefix(1);
  }
  if (read.words.empty()) return std::nullopt;
  return read;
}

std::optional<std::chrono::microseconds> execution_time(std::string_view line) {
  constexpr std::int64_t most_seconds = 100'000'000'000, most_rest = 999'999;
  auto const seconds = take_number<std::int64_t>(line, '.');
  auto const rest = seconds ? take_number<std::int64_t>(line, ' ') : std::nullopt;
  if (!seconds || *seconds < 0 || *seconds > most_seconds) return std::nullopt;
  if (!rest || *rest < 0 || *rest > most_rest) return std::nullopt;
  return std::chrono::seconds(*seconds) + std::chrono::microseconds(*rest);
}

}  // namespace herdlock::redis
