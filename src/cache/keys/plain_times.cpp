#include "cache/keys/plain_times.hpp"

namespace herdlock::runtime {

std::optional<entry_age> cache_plain_times::of(cache_key const& key, clock::time_point now) {
  auto const found = known_.look(key.str(), now);
  if (found.what == algo::plain_ends::answer::ask) ask(key);
  if (found.what != algo::plain_ends::answer::known) return std::nullopt;
  auto const& [since, ends, load_time] = found.times;
  entry_age age;
  age.header.ttl = std::chrono::ceil<milliseconds>(ends - since);
  // When it was made is not known: it says nothing of a load that failed.
  age.times = {{}, load_time, ends, ends};
  return age;
}

void cache_plain_times::stored(cache_key const& key, milliseconds ttl, clock::duration load_time) {
  auto const now = clock::now();
  known_.stored(key.str(), {now, now + ttl, load_time});
}

void cache_plain_times::ask(cache_key const& key) {
  auto const& values = home_->store->values();
  auto told = [this, keep = home_->keep(), key,
               asked = known_.asked()](result<std::optional<milliseconds>> const& left) {
    known_.told(key.str(), asked, left.has_value() ? *left : std::nullopt, clock::now());
  };
  if (values) values->time_left(key, std::move(told));
}

}  // namespace herdlock::runtime
