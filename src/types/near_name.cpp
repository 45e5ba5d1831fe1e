#include "types/near_name.hpp"

#include <algorithm>

namespace herdlock {
inline namespace v0 {
namespace {

// How many characters have to be put in, left out, changed or swapped with the next one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] =
          std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      bool const swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string near_name(std::string_view name, std::vector<std::string> const& known) {
  constexpr std::size_t longest = 40, most_wrong = 2;
  std::string found;
  if (name.size() > longest) return found;
  std::size_t best = std::min(most_wrong, name.size() / 2) + 1;
  for (auto const& one : known) {
    auto const wrong = distance(name, one);
    if (wrong < best) {
      best = wrong;
      found = one;
    }
  }
  return found;
}

}  // namespace v0
}  // namespace herdlock
