#include "common/stopping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <herdlock/election.hpp>

#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::cli {

std::optional<milliseconds> grace_argument(std::string const& text, milliseconds ttl) {
  if (text.empty()) return std::nullopt;
  milliseconds const grace = duration_argument("--grace", text);
  if (grace < ttl && grace * 2 < ttl) return grace;
  throw command_error(exit_code::usage,
                      fmt::format("--grace {} is not less than half of the ttl ({}); choose a "
                                  "longer --ttl or a shorter --grace",
                                  text, say(ttl)));
}

stopping_times stopping_times_in(store const& where, std::optional<milliseconds> grace,
                                 milliseconds ttl) {
  auto const proved = where.traits().longest_term;
  auto const term = proved > milliseconds{0} ? std::min(proved, ttl) : ttl;
  auto const taken = grace.value_or(std::min(milliseconds{10'000}, term / 4));
  if (taken * 2 < term) return {taken, stop_notice(taken, term)};
  throw command_error(
      exit_code::usage,
      fmt::format("--grace {} is not less than half of the {} for which {} proves a lease at a "
                  "time; choose a shorter --grace",
                  say(taken), say(term), where.display_name()));
}

}  // namespace herdlock::cli
