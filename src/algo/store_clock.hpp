// The store's clock, as this process knows it: an entry's times are the store's, the process' own
// clock is steady, and a header is judged without asking the store.
//
// Each time the store tells its clock, that lies between the sending and the answer. The middle is
// wrong by half of what that took, at most.
//
// Pure.
#pragma once

#include <optional>

#include <herdlock/types.hpp>

#include "algo/entry_header.hpp"
#include "algo/freshness.hpp"

namespace herdlock::algo {

/// A time of the store's own clock, since its epoch.
using store_time = std::chrono::microseconds;

class store_clock {
 public:
  /// So often it is asked for: clocks drift, and are set.
  static constexpr milliseconds ask_each{60'000};

  /// The store said this to a request that was sent and answered then.
  void told(store_time said, clock::time_point sent, clock::time_point answered);

  bool known() const noexcept { return sample_.has_value(); }
  /// When it is to be asked next; at once when it is not known.
  clock::time_point due() const noexcept;
  /// REQUIRES: known().
  clock::time_point here(store_time there) const;
  store_time there(clock::time_point here) const;

 private:
  struct sample {
    clock::duration ahead;  // of the store's epoch to ours
    clock::duration error;
    clock::time_point taken;
  };
  std::optional<sample> sample_;
};

/// The times of an entry on the clock of this process. If it is not known when the entry was made,
/// it is fresh until the store drops it; so is an entry without a grace, if the store's clock is
/// not known. An entry with a grace cannot be judged then: it is dead (cannot_be_judged).
entry_times times_of(entry_header const& header, store_clock const& clock_of_store);

/// When an entry that cannot be judged has expired and ended.
inline constexpr auto cannot_be_judged = clock::time_point::min();

/// An entry with less time left than this in the store is claimed although it is there: one that is
/// stale, or that nobody refreshed since it was read as this. The store keeps an entry from when
/// its write came there, the header counts from when it was sent: up to a quarter of the ttl later,
/// a second at most, it still counts as stale. After a write that came later than that, a claim is
/// told that the entry is fresh, and the refresh begins by so much later. So the store judges by
/// this also what cannot be judged here.
milliseconds refresh_below(entry_header const& header, entry_times const& times,
                           clock::time_point now);

}  // namespace herdlock::algo
