// What the LFU counter of a key says of its rate (Redis, evict.c: LFULogIncr, LFUDecrAndReturn).
//
// The counter begins at 5. A use raises it by one with the probability 1 / ((counter - 5) * factor
// + 1), and each `decay` minutes it falls by one. So it grows with the logarithm of the uses, and
// one counter is had by keys whose rates are far apart: a range, no number.
#pragma once

namespace herdlock::redis {

struct lfu_range {
  double low = 0;   ///< uses a second, by which it stays where it is against its decay
  double high = 0;  ///< as if it had had all its uses in the last decay interval; 0: no bound
  /// The geometric mean of the two, as the counter is a logarithm. Greater for a greater counter,
  /// also where there is no bound.
  double likely = 0;
};

/// `log_factor`, `decay_minutes`: lfu-log-factor and lfu-decay-time of the server. Both bounds are
/// expected values over a decay interval. A counter of 255 does not grow any more, so there is no
/// upper bound; without decay nobody knows when its uses were, and both are 0. A key that is not
/// used any more keeps its counter for minutes: `low` was true then.
lfu_range lfu_range_of(int counter, int log_factor, int decay_minutes) noexcept;

}  // namespace herdlock::redis
