// A line of MONITOR:
//
//   1700000000.123456 [0 127.0.0.1:60866] "SET" "key\x00" "a \"value\""
//   1700000000.123460 [0 lua] "SET" "key" "value"
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace herdlock::redis {

struct monitor_line {
  int database = 0;
  bool by_script = false;  ///< a command of a script, which has a line of its own
  std::vector<std::string> words;
};

/// Of a line that is cut, the words that are whole are read.
enum class line_part { whole, beginning };

/// `most_words`: what comes behind them is not kept, and need not be whole. Nothing for what is no
/// such line.
std::optional<monitor_line> parse_monitor_line(std::string_view line, std::size_t most_words,
                                               line_part is = line_part::whole);

/// When the server executed it, by its wall clock. Nothing for what does not begin as such a line.
std::optional<std::chrono::microseconds> execution_time(std::string_view line);

}  // namespace herdlock::redis
