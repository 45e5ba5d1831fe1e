#include "stores/redis/redlock/voting_delay.hpp"

#include <algorithm>

#include "stores/common/numbers.hpp"

namespace herdlock::redis {

void voting_delay::met(server const& found, time_point now) {
  bool const another = !run_id_.empty() && !found.run_id.empty() && found.run_id != run_id_;
  // The server counts in whole seconds of its clock: it may run for nearly one less, or one more.
  std::chrono::seconds constexpr whole{1};
  milliseconds counted = std::max(found.runs_for - whole, std::chrono::seconds{0});
  std::string since = "it was started " + in_ms(found.runs_for) + " ago";
  if (another) {
    // Who was started lately may be the former one's next start, which ended when we lost it.
    auto const without = std::chrono::floor<milliseconds>(now - lost_at_.value_or(now));
    auto const known = found.runs_for + whole <= delay_ ? without : milliseconds{0};
    if (known < counted) {
      counted = known;
      since = "another server has taken its place";
    }
  }
  if (!found.run_id.empty()) run_id_ = found.run_id;
  lost_at_.reset();
  if (counted < delay_) {
    auto const rest = delay_ - counted;
    // The clocks of two machines: a hundredth more.
    auto const until = now + rest + rest / 100;
    if (until >= votes_from_) {
      votes_from_ = until;
      since_ = std::move(since);
    }
  }
  refuse_until_then(now);
}

void voting_delay::refuse_until_then(time_point now) {
  why_ = {};
  if (now >= votes_from_) return;
  auto const rest = std::chrono::ceil<milliseconds>(votes_from_ - now);
  why_ = make_failure(errc::unavailable, node_ + ": " + since_ +
                                             ", and it grants nothing for another " + in_ms(rest) +
                                             " (restart_delay=" + in_ms(delay_) +
                                             "), because it may not know leases that are held");
}

}  // namespace herdlock::redis
