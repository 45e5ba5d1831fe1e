// How `herdlock hot` tells of keys: pure, for a terminal of any size, for lines and for programs.
#pragma once

#include <herdlock/survey.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace herdlock::cli {

/// As they are written behind --source.
using named_source = std::pair<char const*, survey_source>;
inline constexpr std::initializer_list<named_source> survey_sources{
    {"clients", survey_source::clients},
    {"monitor", survey_source::monitor},
    {"lfu", survey_source::lfu},
    {"server", survey_source::server}};

/// In three digits or so: `0`, `7.4`, `950`, `12.3 k`, `4.5 M`.
std::string readable(double number);

/// The text, which has no control characters, in so many columns of a terminal, or less: what is
/// too much in its middle is one `…`.
std::string cut_in_the_middle(std::string_view text, std::size_t columns);

inline constexpr std::size_t any_width = std::numeric_limits<std::size_t>::max();

/// A head and a line for each key. A column of which nothing is known is left out, and so are the
/// last ones when the width does not leave enough for the keys.
std::vector<std::string> hot_table(survey const& seen, std::size_t width);

/// What to say when there was no key, and where else to look.
std::vector<std::string> nothing_found(survey_source source);

/// A list of objects.
nlohmann::ordered_json hot_json(survey const& seen, survey_source source);

/// `elapsed key rate low high`: five words, with - for what is not known; no end of line.
std::string hot_line(surveyed_key const& one, milliseconds elapsed);

/// What a watch knows.
struct hot_view {
  std::string store;  ///< its URL without the password
  survey_source source = survey_source::clients;
  milliseconds elapsed{0};     ///< from the start to the last look
  std::optional<survey> seen;  ///< the last one that succeeded
  std::string trouble;         ///< why the last look failed; empty: it did not
  std::optional<int> percent;  ///< of the look that is under way
  bool ending = false;         ///< when that look is over
};

struct screen_size {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// The lines of the live screen, at most size.rows of them; the first is its header.
std::vector<std::string> hot_screen_lines(hot_view const& now, screen_size size);

}  // namespace herdlock::cli
