#include "algo/remembered_times.hpp"

namespace herdlock::algo {
namespace {

// Each looks at all that is remembered.
constexpr milliseconds pause_of_sweeps{1000};

}  // namespace

remembered_times::found remembered_times::look(std::string_view key, clock::time_point now) {
  auto at = entries_.find(key);
  if (at != entries_.end()) {
    entry const& there = at->second;
    if (there.asked != 0) return {answer::wait};
    if (now < there.times.ends) return {answer::known, there.times};
  } else if (!make_room(now)) {
    return {answer::wait};
  } else {
    at = entries_.emplace(key, entry{}).first;
  }
  at->second.asked = ++last_asked_;
  return {answer::ask};
}

void remembered_times::told(std::string_view key, std::uint64_t asked,
                            std::optional<milliseconds> left, clock::time_point now) {
  auto const at = entries_.find(key);
  if (at == entries_.end() || at->second.asked != asked) return;
  if (!left || *left <= milliseconds{0}) {
    entries_.erase(at);
    return;
  }
  auto& [pending, times] = at->second;
  pending = 0;
  times.known_since = now;
  times.ends = now + *left;
  if (times.load_time == clock::duration{0}) times.load_time = last_load_time_;
}

void remembered_times::stored(std::string_view key, span const& times) {
  loaded_in(times.load_time);
  auto const at = entries_.find(key);
  if (at != entries_.end()) {
    at->second = {0, times};
  } else if (make_room(times.known_since)) {
    entries_.emplace(key, entry{0, times});
  }
}

void remembered_times::forget(std::string_view key) {
  auto const at = entries_.find(key);
  if (at != entries_.end()) entries_.erase(at);
}

bool remembered_times::make_room(clock::time_point now) {
  if (entries_.size() < most_) return true;
  if (now < next_sweep_) return false;
  next_sweep_ = now + pause_of_sweeps;
  std::erase_if(entries_, [now](auto const& one) {
    return one.second.asked == 0 && one.second.times.ends <= now;
  });
  return entries_.size() < most_;
}

}  // namespace herdlock::algo
