// The hashes in which reports are kept: scripts/fleet_report.lua writes them, and HSCAN reads them
// in parts, since an answer has a bound. One ends with the window behind its own, so what is there
// counts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stores/common/numbers.hpp"
#include "stores/redis/client/reply.hpp"

namespace herdlock::redis {

/// Of even windows, and of odd ones. Under the name of the topic, as the channels of cache entries:
/// a user has rights to both.
inline constexpr std::string_view even_reports_role = "reports:0";
inline constexpr std::string_view odd_reports_role = "reports:1";

/// The reports that an answer has room for, with keys of the longest names.
inline constexpr std::string_view reports_in_a_part = "250";

/// The answer to HSCAN KEY CURSOR COUNT reports_in_a_part.
struct part_of_reports {
  std::string_view next;  ///< the cursor of the next part; "0": this is the last one
  /// Without their numbers. One may be in two parts. They live as long as the answer.
  std::vector<std::string_view> texts;
};

inline bool is_part_of_reports(reply const& answer) {
  return answer.kind() == reply_kind::list && answer.kind(2) == reply_kind::list;
}

inline part_of_reports reports_in(reply const& answer) {
  part_of_reports part{.next = answer.text(1), .texts = {}};
  for (std::size_t i = 3; i + 1 < answer.nodes(); i += 2) {
    auto text = answer.text(i + 1);
    bool const is_report = !answer.text(i).starts_with('#');
    if (is_report && take_number<std::uint64_t>(text, ' ')) part.texts.push_back(text);
  }
  return part;
}

}  // namespace herdlock::redis
