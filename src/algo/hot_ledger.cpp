#include "algo/hot_ledger.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace herdlock::algo {
namespace {

// Nothing if the time went back; the longest duration if more time has passed.
std::optional<clock::duration> between(clock::time_point from, clock::time_point to) noexcept {
  if (to < from) return std::nullopt;
  clock::rep took = 0;
  bool const too_long =
      __builtin_sub_overflow(to.time_since_epoch().count(), from.time_since_epoch().count(), &took);
  return too_long ? clock::duration::max() : clock::duration(took);
}

}  // namespace

hot_ledger::hot_ledger(hot_thresholds const& thresholds, std::size_t most_hot)
    : thresholds_(thresholds), most_hot_(most_hot) {
  used_.reserve(most_keys);
}

hot_half hot_ledger::begin(clock::time_point now) noexcept {
  begun_ = now;
  auto const took = last_ ? between(*last_, now) : std::nullopt;
  bool const over = took && add_up(live_, *took) >= thresholds_.half;
  half_ = over ? hot_half::ends : hot_half::goes_on;
  return half_;
}

bool hot_ledger::add(hot_key_id const& key, hot_uses uses) noexcept {
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (entries_.size() >= most_keys && !make_room()) return false;
    try {
      known_key made{key.hash, key.size, std::make_shared<std::string const>(key.text)};
      found = entries_.emplace(std::move(made), entry{}).first;
    } catch (std::bad_alloc const&) {
      return false;
    }
  }
  found->second.fresh += uses;
  return true;
}

// Half of those that are not hot go at once, so that each newcomer costs a few looks.
bool hot_ledger::make_room() noexcept {
  auto const uses = [](entry const& one) { return (one.state.in_window() + one.fresh).sum(); };
  used_.clear();
  for (auto const& [key, one] : entries_) {
    if (!one.state.hot()) used_.push_back(uses(one));
  }
  if (used_.empty()) return false;
  std::size_t going = (used_.size() + 1) / 2;
  auto const last = used_.begin() + static_cast<std::ptrdiff_t>(going - 1);
  std::nth_element(used_.begin(), last, used_.end());
  std::uint64_t const most = *last;
  for (auto at = entries_.begin(); at != entries_.end() && going > 0;) {
    bool const goes = !at->second.state.hot() && uses(at->second) <= most;
    at = goes ? entries_.erase(at) : std::next(at);
    if (goes) --going;
  }
  return true;
}

// If a tick is delayed after begin(), the shards report uses of a longer time than it knew of then.
// So its time goes up to `now` here, and the next tick counts that stretch once more.
void hot_ledger::advance(clock::time_point now, std::vector<hot_change>& out) noexcept {
  out.clear();
  took_ = last_ ? between(*last_, now) : std::nullopt;
  last_ = begun_;
  if (took_) live_ = add_up(live_, *took_);
  for (auto& [key, one] : entries_) judge(key, one, out);
  if (half_ == hot_half::ends) end_half(out);
}

void hot_ledger::judge(known_key const& key, entry& one, std::vector<hot_change>& out) noexcept {
  hot_uses const fresh = std::exchange(one.fresh, {});
  if (took_) {
    one.state.used(fresh, *took_, thresholds_);
  } else {
    one.state.used_at_times_unknown(fresh);
  }
  if (!one.state.deserves(thresholds_)) return;
  if (hot_ >= most_hot_) {
    ++refused_;
    return;
  }
  ++hot_;
  one.state.make_hot(thresholds_);
  out.push_back({hot_change::kind::hot, key.text, key.hash});
}

void hot_ledger::end_half(std::vector<hot_change>& out) noexcept {
  for (auto at = entries_.begin(); at != entries_.end();) {
    hot_key_state& state = at->second.state;
    if (state.end_half(live_, thresholds_)) {
      --hot_;
      known_key const& key = at->first;
      out.push_back({hot_change::kind::cooled, key.text, key.hash});
    }
    bool const goes = !state.hot() && state.in_window() == hot_uses{};
    at = goes ? entries_.erase(at) : std::next(at);
  }
  previous_ = std::exchange(live_, clock::duration(0));
}

std::vector<hot_key_report> hot_ledger::top(std::size_t most) const {
  using iterator = decltype(entries_)::const_iterator;
  std::vector<iterator> all;
  all.reserve(entries_.size());
  for (auto at = entries_.begin(); at != entries_.end(); ++at) all.push_back(at);
  auto const more_read = [](iterator a, iterator b) {
    return a->second.state.in_window().reads > b->second.state.in_window().reads;
  };
  auto const end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), end, all.end(), more_read);
  double const seconds = std::chrono::duration<double>(add_up(previous_, live_)).count();
  std::vector<hot_key_report> found;
  found.reserve(static_cast<std::size_t>(end - all.begin()));
  for (auto at = all.begin(); at != end; ++at) {
    auto const& [key, one] = **at;
    double const rate = seconds > 0 ? double(one.state.timed_reads()) / seconds : 0;
    found.push_back({key.text, key.hash, key.size, one.state.in_window(), rate, one.state.hot()});
  }
  return found;
}

}  // namespace herdlock::algo
