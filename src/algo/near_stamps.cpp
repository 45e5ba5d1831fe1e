#include "algo/near_stamps.hpp"

#include <functional>

namespace herdlock::algo {

std::size_t near_stamps::place_of(std::string_view key) const {
  return std::hash<std::string_view>{}(key) % stripes_.size();
}

// Both only grow: the sum is the same only if neither has changed.
std::uint64_t near_stamps::of(std::string_view key) const {
  return stripes_[place_of(key)].changes + of_all_;
}

bool near_stamps::admits(std::string_view key, std::uint64_t stamp) const {
  return stripes_[place_of(key)].writes == 0 && of(key) == stamp;
}

void near_stamps::changed(std::string_view key) { ++stripes_[place_of(key)].changes; }

void near_stamps::write_sent(std::string_view key) { ++stripes_[place_of(key)].writes; }

// A read that was sent while the write was under way may have come before it, at the server, over
// another connection.
void near_stamps::write_ended(std::string_view key) {
  stripe& of_key = stripes_[place_of(key)];
  ++of_key.changes;
  if (of_key.writes != 0) --of_key.writes;
}

}  // namespace herdlock::algo
