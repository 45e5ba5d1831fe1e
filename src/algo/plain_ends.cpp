#include "algo/plain_ends.hpp"

namespace herdlock::algo {
namespace {

// A store that had no answer is not asked again before.
constexpr milliseconds pause_of_questions{1000};

}  // namespace

plain_ends::found plain_ends::look(std::string_view key, clock::time_point now) {
  table_.tell_time(now);
  key_place at(table_, key);
  // Keys that are read in turn would push out what is known of each other.
  if (!at.make_beside(key)) return {answer::wait};
  if (!at->end) at->end = std::make_unique<plain_end>();
  auto& there = *at->end;
  bool const waits = there.asked != 0 || now < there.ask_again;
  if (waits) return {answer::wait};
  if (now < there.ends) {
    return {answer::known, {there.known_since, there.ends, there.load_time}};
  }
  there.asked = ++last_asked_;
  return {answer::ask};
}

void plain_ends::told(std::string_view key, std::uint64_t asked, std::optional<milliseconds> left,
                      clock::time_point now) {
  table_.tell_time(now);
  key_place const at(table_, key);
  if (!at || !at->end || at->end->asked != asked) return;
  auto& there = *at->end;
  there.asked = 0;
  if (!left || *left <= milliseconds{0}) {
    // A right that is missing stays missing: it is not asked for with each read.
    there.ask_again = now + pause_of_questions;
    return;
  }
  there.known_since = now;
  there.ends = now + *left;
  if (there.load_time == clock::duration{0}) there.load_time = last_load_time_;
}

void plain_ends::stored(std::string_view key, span const& times) {
  table_.tell_time(times.known_since);
  loaded_in(times.load_time);
  key_place at(table_, key);
  if (!at.make(key)) return;
  at->end = std::make_unique<plain_end>(plain_end{times.known_since, times.ends, times.load_time});
}

void plain_ends::forget(std::string_view key) {
  key_place const at(table_, key);
  if (at) at->end.reset();
}

}  // namespace herdlock::algo
