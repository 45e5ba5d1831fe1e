#include "stores/redis/redlock/voting_delay.hpp"

#include <algorithm>

#include "stores/common/numbers.hpp"

namespace herdlock::redis {

void voting_delay::met(server const& found, time_point now) {
  bool const another = !run_id_.empty() && !found.run_id.empty() && found.run_id != run_id_;
  milliseconds counted = std::max(found.runs_for, std::chrono::seconds{0});
  std::string since = "it was started " + in_ms(counted) + " ago";
  if (another) {
    auto const without = std::chrono::floor<milliseconds>(now - lost_at_.value_or(now));
    if (without < counted) {
      counted = without;
      since = "another server has taken its place";
    }
  }
  if (!found.run_id.empty()) run_id_ = found.run_id;
  lost_at_.reset();
  why_ = {};
  if (counted >= delay_) return;
  // The clocks of two machines: a hundredth more.
  auto const rest = delay_ - counted;
  votes_from_ = now + rest + rest / 100;
  why_ = make_failure(errc::unavailable, node_ + ": " + since +
                                             ", and it grants nothing for another " + in_ms(rest) +
                                             " (restart_delay=" + in_ms(delay_) +
                                             "), because it may not know leases that are held");
}

}  // namespace herdlock::redis
