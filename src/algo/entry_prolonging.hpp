// How the rule `keep` lengthens the time of an entry that somebody else has written: within a bound
// that counts from the first expiry that was seen, whoever asks.
//
// The mark stands in the store, beside the entry. An entry that ends when the mark says is the one
// of the mark. If it ends at another time, somebody has written it, or given it a time, since: then
// what is seen is the first expiry again.
//
// Pure. The script of the Redis store (cache_prolong.lua) does the same.
#pragma once

#include <optional>

#include <herdlock/types.hpp>

namespace herdlock::algo {

struct prolong_mark {
  clock::time_point first{};  ///< the expiry that was seen first
  clock::time_point last{};   ///< the expiry that was set last

  friend bool operator==(prolong_mark const&, prolong_mark const&) = default;
};

struct prolong_bounds {
  milliseconds to;       ///< so much time shall be left
  milliseconds at_most;  ///< so long it lives beyond the first expiry, at most
};

/// The new mark; its `last` is the new end of the entry. Nothing: the entry keeps its end, since it
/// is over, has much time left, or may not last longer.
std::optional<prolong_mark> prolonged(clock::time_point ends, prolong_mark const& mark,
                                      prolong_bounds const& bounds, clock::time_point now);

}  // namespace herdlock::algo
