// The hashes in which reports are kept: scripts/fleet_report.lua writes them, and HGETALL reads
// them. One ends with the window behind its own, so what is there counts.
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

/// The texts in the answer to HGETALL, without their numbers. They live as long as the answer.
inline std::vector<std::string_view> kept_reports(reply const& hash) {
  std::vector<std::string_view> texts;
  for (std::size_t i = 1; i + 1 < hash.nodes(); i += 2) {
    auto text = hash.text(i + 1);
    bool const is_report = !hash.text(i).starts_with('#');
    if (is_report && take_number<std::uint64_t>(text, ' ')) texts.push_back(text);
  }
  return texts;
}

}  // namespace herdlock::redis
