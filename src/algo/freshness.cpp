#include "algo/freshness.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace herdlock::algo {
namespace {

// A back-off of a fleet: enough that those who saw one failure do not come back together, and
// little, so that the calls of an outage can be foretold.
constexpr double back_off_spread = 0.1;

// Doubled so often, anything is beyond the longest ttl.
constexpr std::uint32_t most_doublings = 40;

}  // namespace

clock::duration head_start_of(clock::duration load_time, double beta, random_number random) {
  // 1 - random is in (0, 1]: its logarithm is finite.
  auto const drawn = -beta * std::log1p(-random) * std::chrono::duration<double>(load_time);
  constexpr auto longest = std::chrono::duration<double>(limits::max_ttl);
  return std::chrono::duration_cast<clock::duration>(std::min(drawn, longest));
}

clock::duration safe_head_start(milliseconds ttl, clock::duration load_time) {
  constexpr milliseconds most_of_tenth{60'000};
  auto const wanted = std::max<clock::duration>(2 * load_time, std::min(ttl / 10, most_of_tenth));
  return std::min<clock::duration>(wanted, ttl / 2);
}

freshness freshness_of(entry_times const& times, clock::time_point now, earliness const& early,
                       random_number random) {
  if (now >= times.ends) return freshness::dead;
  if (now >= times.expires) return freshness::stale;
  auto ahead = early.least;
  if (early.beta > 0) ahead = std::max(ahead, head_start_of(times.load_time, early.beta, random));
  if (ahead <= clock::duration{0}) return freshness::fresh;
  return ahead >= times.expires - now ? freshness::early : freshness::fresh;
}

milliseconds back_off_after(failure_back_off const& limits, std::uint32_t failures,
                            random_number random) {
  if (limits.most <= limits.first) return limits.first;
  auto const doublings = std::min(failures > 0 ? failures - 1 : 0, most_doublings);
  double const grown = std::ldexp(double(limits.first.count()), static_cast<int>(doublings));
  double const capped = std::min(grown, double(limits.most.count()));
  double const varied = capped * (1 + back_off_spread * (2 * random - 1));
  return milliseconds(static_cast<std::int64_t>(varied));
}

// ------------------------------------------------------------------------------ an entry is found

entry_use freshness_machine::found(std::string_view key, entry_times const& times,
                                   clock::time_point now, random_number random,
                                   found_by const& caller) {
  table_.tell_time(now);
  note_entry(key, times);
  earliness const early{policy_.early_refresh, caller.least_head_start};
  switch (freshness_of(times, now, early, random)) {
    case freshness::fresh:
      return entry_use::serve;
    case freshness::early:
      return begin_refresh(key, times);
    case freshness::stale:
      return use_of_stale(key, times, caller.soft_timeout.value_or(policy_.soft_timeout));
    case freshness::dead:
      break;
  }
  return entry_use::load;
}

entry_use freshness_machine::found_by_schedule(std::string_view key, entry_times const& times,
                                               clock::time_point now) {
  table_.tell_time(now);
  note_entry(key, times);
  bool const stale = freshness_of(times, now, {}, 0) == freshness::stale;
  return stale ? begin_refresh(key, times) : entry_use::serve;
}

// Another entry than the one that was there when loads failed is a success, whoever had it. The
// same one is none: an early refresh fails while the entry is still fresh.
void freshness_machine::note_entry(std::string_view key, entry_times const& times) {
  key_place const at(table_, key);
  if (!at) return;
  if (times.made != std::exchange(at->refresh.made, times.made)) at->refresh.succeeded();
}

entry_use freshness_machine::begin_refresh(std::string_view key, entry_times const& times) {
  key_place at(table_, key);
  auto const now = table_.now();
  if (!at.make(key) || at->refresh.refresh != 0) return entry_use::serve;
  auto& state = at->refresh;
  if (now < state.not_before || now < state.failing_until) return entry_use::serve;
  state.made = times.made;
  state.refresh = ++last_id_;
  return entry_use::serve_and_refresh;
}

entry_use freshness_machine::use_of_stale(std::string_view key, entry_times const& times,
                                          milliseconds soft_timeout) {
  auto const* const known = table_.find(key);
  bool const failing = known && table_.now() < known->refresh.failing_until;
  if (failing) return policy_.fail_safe ? entry_use::serve : entry_use::load;
  if (soft_timeout > milliseconds{0}) return entry_use::wait_softly;
  return begin_refresh(key, times);
}

// ---------------------------------------------------------------------------------- loads end

void freshness_machine::refresh_ended(std::string_view key, std::uint64_t refresh,
                                      clock::time_point now) {
  table_.tell_time(now);
  key_place const at(table_, key);
  if (!at || at->refresh.refresh != refresh) return;
  at->refresh.refresh = 0;
  at->refresh.not_before = now + policy_.busy_pause;
}

void freshness_machine::load_succeeded(std::string_view key) {
  key_place const at(table_, key);
  if (at) at->refresh.succeeded();
}

milliseconds freshness_machine::load_failed(std::string_view key, clock::time_point now,
                                            random_number random) {
  table_.tell_time(now);
  key_place at(table_, key);
  if (!at.make(key)) return back_off_after(policy_.back_off, 1, random);
  auto& state = at->refresh;
  ++state.failures;
  auto const pause = back_off_after(policy_.back_off, state.failures, random);
  state.failing_until = now + pause;
  return pause;
}

void freshness_machine::told_of_failure(std::string_view key, std::uint32_t failures,
                                        clock::time_point now, clock::time_point until) {
  table_.tell_time(now);
  key_place at(table_, key);
  if (!at.make(key)) return;
  at->refresh.failures = std::max({at->refresh.failures, failures, 1U});
  at->refresh.failing_until = until;
}

std::uint32_t freshness_machine::failures(std::string_view key) const {
  auto const* const known = table_.find(key);
  return known ? known->refresh.failures : 0;
}

// ------------------------------------------------------------------------- expire, invalidate

void freshness_machine::expired(std::string_view key) {
  key_place const at(table_, key);
  if (!at) return;
  at->refresh.refresh = 0;
  at->refresh.not_before = {};
  at->refresh.succeeded();
}

void freshness_machine::invalidated(std::string_view key) {
  expired(key);
  if (auto* const known = table_.find(key)) known->killed_at = table_.next_number();
}

std::uint64_t freshness_machine::look_sent(std::string_view key) {
  key_place at(table_, key);
  if (!at.make(key)) return uncounted;
  ++at->looks;
  return table_.next_number();
}

bool freshness_machine::look_over(std::string_view key, std::uint64_t sent) {
  if (sent == uncounted) return true;  // nobody knows
  key_place const at(table_, key);
  --at->looks;
  return at->killed_at > sent;
}

stale_copy freshness_machine::keep(std::string_view key, entry_times const& times,
                                   clock::time_point now) {
  table_.tell_time(now);
  key_place at(table_, key);
  if (!at.make(key)) return {};  // as if it was killed: it is not served
  at->refresh.made = times.made;
  ++at->refresh.kept;
  return {table_.next_number()};
}

bool freshness_machine::wait_over(std::string_view key, stale_copy copy, wait_end how) {
  key_place const at(table_, key);
  if (!at || copy.kept_at == 0) return false;
  bool const alive = copy.kept_at > at->killed_at;
  if (at->refresh.kept > 0) --at->refresh.kept;
  if (how == wait_end::value) return false;
  return alive && (how == wait_end::soft_timeout || policy_.fail_safe);
}

}  // namespace herdlock::algo
