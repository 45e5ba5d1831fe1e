#include "cache/fleet/members.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "cache/fleet/rules.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

std::uint64_t random_number() {
  std::random_device random;
  return std::uint64_t(random()) << 32 | random();
}

// A count of the window, in uses a second, as the rate of the reads says how long that was.
std::uint64_t rate_of(std::uint64_t count, hot_key const& key) {
  if (key.reads.low == 0) return 0;
  double const rate = double(count) / double(key.reads.low) * key.reads_per_second;
  return static_cast<std::uint64_t>(
      std::ceil(std::min(rate, double(algo::fleet_report::most_uses))));
}

algo::fleet_key fleet_key_of(hot_key&& key) {
  return {.key = std::move(key.key),
          .low = static_cast<std::uint64_t>(
              std::min(key.reads_per_second, double(algo::fleet_report::most_uses))),
          .high = rate_of(key.reads.high, key),
          .writes = rate_of(key.writes.low, key),
          .hot = key.hot};
}

}  // namespace

cache_fleet::cache_fleet(std::shared_ptr<store_core> home, fleet_settings settings,
                         change_listener told)
    : home_(std::move(home)),
      settings_(std::move(settings)),
      told_(std::move(told)),
      process_(random_number()),
      teller_(process_),
      known_(make_fleet_knowledge(home_, settings_, process_)) {}

// As it was found at the ticks: what came and went between two of them is not seen.
void cache_fleet::note_what_is_kept(std::vector<algo::fleet_key>& known, keeping const& keeps,
                                    clock::time_point now) {
  auto const before = std::exchange(kept_since_, {});
  if (!keeps) return;
  for (auto& one : known) {
    if (!keeps(one.key)) continue;
    auto const at = before.find(one.key);
    auto const since = at != before.end() ? at->second : now;
    kept_since_.emplace(one.key, since);
    auto const time = std::chrono::duration_cast<milliseconds>(now - since).count();
    one.kept_ms = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(time), 1,
                                            algo::fleet_report::most_kept_ms);
  }
}

void cache_fleet::tick(clock::time_point now, detail::hot_keys_core& counted,
                       keeping const& keeps) {
  if (closed_) return;
  if (has_news_) tell_changes(now);
  if (closed_ || (now < due_.tick && !hurries_)) return;
  bool const hurries = std::exchange(hurries_, false);
  due_.tick = now + pause;
  std::vector<algo::fleet_key> known;
  // A key that is not among them is not used clearly more than the last one that is.
  std::uint64_t uncounted = 0;
  for (auto& one : counted.top(2 * algo::fleet_report::most_keys)) {
    known.push_back(fleet_key_of(std::move(one)));
    uncounted = 2 * known.back().high;
  }
  if (known.size() < 2 * algo::fleet_report::most_keys) uncounted = 0;
  note_what_is_kept(known, keeps, now);
  bool const reads_often =
      !known.empty() &&
      known.front().high >= algo::hot_fleet::least_to_take_part(settings_.thresholds);
  if (reads_often) listen();
  if (!listens_) return;
  if (now < due_.report) return tell_changes(now);
  algo::fleet_view view;
  {
    std::lock_guard const lock(guard_);
    view = known_->view();
  }
  auto report = teller_.report(std::move(known), uncounted, view, now);
  if (report) {
    send(*std::move(report), now);
  } else {
    hurries_ = hurries;  // it was too soon
  }
  if (has_reported_) take_part(now);
  tell_changes(now);
}

void cache_fleet::take_part(clock::time_point now) {
  store_collector::trouble found;
  {
    std::lock_guard const lock(guard_);
    found = known_->take_part(now);
    stats_.refused += found.refused;
    stats_.report_errors += found.unsent;
  }
  for (auto const& what : found.warnings) {
    settings_.counters.warnings.add(home_->display_name() + ": " + what);
  }
}

void cache_fleet::listen() {
  auto const& reports = home_->reports();
  if (!reports || std::exchange(listens_, true)) return;
  reports->listen(known_->topic(), weak_from_this());
}

void cache_fleet::send(algo::fleet_report report, clock::time_point now) {
  auto const& reports = home_->reports();
  if (!reports) return;
  has_reported_ = true;
  count(&hot_fleet_stats::reported);
  auto on_done = [weak = weak_from_this()](result<void> const& done) {
    auto const self = weak.lock();
    if (!self || !done.has_error()) return;
    self->on_refused(done.error());
  };
  reports->report(known_->addressed(report), std::move(on_done));
  std::lock_guard const lock(guard_);
  known_->said(std::move(report), now);
}

void cache_fleet::on_refused(failure const& why) {
  count(&hot_fleet_stats::report_errors);
  due_.report = clock::now() + pause_of_trouble;
  waits_for_connection_ = passes_by(why);
  std::lock_guard const lock(guard_);
  known_->unsaid();
}

// The processes that were cut off together do not report together.
void cache_fleet::on_listening() {
  if (!std::exchange(waits_for_connection_, false)) return;
  auto const part = random_unit() * double(spread_behind_outage.count());
  due_.report = clock::now() + milliseconds(static_cast<milliseconds::rep>(part));
}

void cache_fleet::on_report(std::string_view text) {
  if (closed_) return;
  auto const now = clock::now();
  std::optional<algo::fleet_hearing> how;
  {
    std::lock_guard const lock(guard_);
    how = known_->hear(text, now);
  }
  if (!how) return;
  switch (*how) {
    case algo::fleet_hearing::news:
      count(&hot_fleet_stats::heard);
      break;
    case algo::fleet_hearing::old:
      count(&hot_fleet_stats::heard_again);
      break;
    case algo::fleet_hearing::refused:
      count(&hot_fleet_stats::refused);
      break;
  }
  tell_changes(now);
}

void cache_fleet::count(std::uint64_t hot_fleet_stats::*what) {
  std::lock_guard const lock(guard_);
  ++(stats_.*what);
}

void cache_fleet::tell_changes(clock::time_point now) {
  has_news_ = now < due_.sum;
  if (has_news_) return;  // at a tick
  auto const keep = shared_from_this();
  std::vector<algo::fleet_change> changes;
  {
    std::lock_guard const lock(guard_);
    changes = known_->advance(now);
    due_.sum = now + known_->pause();
  }
  for (auto const& change : changes) {
    if (!closed_) told_(change);
  }
}

void cache_fleet::close() {
  closed_ = true;
  std::lock_guard const lock(guard_);
  known_->leave();
}

std::vector<fleet_hot_key> cache_fleet::top(std::size_t most) const {
  std::vector<fleet_hot_key> all;
  std::lock_guard const lock(guard_);
  for (auto& one : known_->top(most)) {
    all.push_back({std::move(one.key), one.low, one.high, one.writes, one.processes, one.hot});
  }
  return all;
}

hot_fleet_stats cache_fleet::stats() const {
  std::lock_guard const lock(guard_);
  auto now = stats_;
  now.processes = known_->processes();
  now.hot = known_->hot();
  return now;
}

}  // namespace herdlock::runtime
