// What has never happened, where a promise was kept.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "stage/report.hpp"

namespace herdlock::lab {

/// `sentence` says it with `{}` for how often it has happened; `whose` stands in front of it.
inline void demand_none(judge& by, std::int64_t times, std::string_view sentence,
                        std::string_view whose = {}) {
  by.demand(times == 0, fmt::format("{}{}{}", whose, whose.empty() ? "" : ": ",
                                    fmt::format(fmt::runtime(sentence), times)));
}

}  // namespace herdlock::lab
