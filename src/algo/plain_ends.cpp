#include "algo/plain_ends.hpp"

namespace herdlock::algo {
namespace {

// A store that had no answer is not asked again before.
constexpr milliseconds pause_of_questions{1000};

}  // namespace

plain_ends::found plain_ends::look(std::string_view key, clock::time_point now) {
  auto at = entries_.find(key);
  if (at != entries_.end()) {
    entry const& there = at->second;
    bool const waits = there.asked != 0 || now < there.ask_again;
    if (waits) return {answer::wait};
    if (now < there.times.ends) return {answer::known, there.times};
  } else if (!make_room(now)) {
    return {answer::wait};
  } else {
    at = entries_.emplace(key, entry{}).first;
  }
  at->second.asked = ++last_asked_;
  return {answer::ask};
}

void plain_ends::told(std::string_view key, std::uint64_t asked, std::optional<milliseconds> left,
                      clock::time_point now) {
  auto const at = entries_.find(key);
  if (at == entries_.end() || at->second.asked != asked) return;
  at->second.asked = 0;
  if (!left || *left <= milliseconds{0}) {
    // A right that is missing stays missing: it is not asked for with each read.
    at->second.ask_again = now + pause_of_questions;
    return;
  }
  auto& times = at->second.times;
  times.known_since = now;
  times.ends = now + *left;
  if (times.load_time == clock::duration{0}) times.load_time = last_load_time_;
}

void plain_ends::stored(std::string_view key, span const& times) {
  loaded_in(times.load_time);
  auto const at = entries_.find(key);
  if (at != entries_.end()) {
    at->second = {times};
  } else if (make_room(times.known_since)) {
    entries_.emplace(key, entry{times});
  }
}

void plain_ends::forget(std::string_view key) {
  auto const at = entries_.find(key);
  if (at != entries_.end()) entries_.erase(at);
}

bool plain_ends::make_room(clock::time_point now) {
  if (entries_.size() < most_) return true;
  hand_.step(entries_, [now](auto const& one) {
    entry const& there = one.second;
    return there.asked == 0 && there.times.ends <= now && there.ask_again <= now;
  });
  return entries_.size() < most_;
}

}  // namespace herdlock::algo
