#include "stage/outcome.hpp"

#include <algorithm>
#include <cmath>

namespace herdlock::cli {
namespace {

// Every n-th, so that the shape stays; the first and the last are always there.
template <class T>
std::vector<T> thinned(std::vector<T> const& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

}  // namespace

mode_outcome::mode_outcome(guard_mode m, stampede_options const& options)
    : mode(m),
      processes(options.processes),
      requests(options.requests),
      expiries(options.expiries),
      load_time(options.origin.load_time) {}

void mode_outcome::add_expiry(std::int64_t go_ns, std::vector<report> const& reports) {
  std::vector<drawn_answer> answered;
  std::vector<drawn_load> spans;
  for (report const& r : reports) {
    double const offset_ms = static_cast<double>(r.started_ns - go_ns) / 1e6;
    for (right_answer const& each : r.answers) {
      answered.push_back({offset_ms + each.at_us / 1e3, each.is_old != 0});
      answered_us_.push_back(each.at_us);
      stale += each.is_old;
    }
    for (auto const& load : r.loads) {
      spans.push_back({offset_ms + load.from_us / 1e3, offset_ms + load.to_us / 1e3, false});
    }
    answers += static_cast<std::int64_t>(r.answers.size());
    warnings.insert(warnings.end(), r.warnings.begin(), r.warnings.end());
    waited += static_cast<std::int64_t>(r.waited);
    errors += r.errors;
    near_hits += static_cast<std::int64_t>(r.near_hits);
    if (first_error.empty()) first_error = r.first_error;
  }
  sorted_ = false;
  std::sort(answered.begin(), answered.end(),
            [](auto const& a, auto const& b) { return a.at_ms < b.at_ms; });
  std::sort(spans.begin(), spans.end(),
            [](auto const& a, auto const& b) { return a.from_ms < b.from_ms; });
  if (!answered.empty()) last_answer_ms_ = std::max(last_answer_ms_, answered.back().at_ms);
  if (drawn_for_good) return;
  last = {thinned(answered, timeline::max_drawn), answered.size(),
          thinned(spans, timeline::max_drawn), spans.size()};
}

double mode_outcome::percentile_ms(double share) {
  if (answered_us_.empty()) return 0;
  if (!sorted_) std::sort(answered_us_.begin(), answered_us_.end());
  sorted_ = true;
  auto const rank = std::ceil(share * static_cast<double>(answered_us_.size()));
  auto const index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return answered_us_[std::min(index, answered_us_.size() - 1)] / 1e3;
}

}  // namespace herdlock::cli
