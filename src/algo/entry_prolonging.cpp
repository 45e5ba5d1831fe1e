#include "algo/entry_prolonging.hpp"

#include <algorithm>

namespace herdlock::algo {

std::optional<prolong_mark> prolonged(clock::time_point ends, prolong_mark const& mark,
                                      prolong_bounds const& bounds, clock::time_point now) {
  auto const to = std::min(bounds.to, limits::max_ttl);
  auto const left = ends - now;
  // Many processes ask; most of them find that another was first.
  if (left <= clock::duration{0} || left * 4 > clock::duration(to) * 3) return std::nullopt;
  auto const first = mark.last == ends ? mark.first : ends;
  auto const bound = first + std::clamp(bounds.at_most, milliseconds{0}, limits::max_ttl);
  auto const longer = std::min(now + to, bound);
  if (longer <= ends) return std::nullopt;
  return prolong_mark{first, longer};
}

}  // namespace herdlock::algo
