// What is promised of failovers under load.
#pragma once

#include "stage/counts.hpp"
#include "stage/guarded_thing.hpp"

namespace herdlock::lab {

/// `safe`: with wait_replicas and quarantine. Without them overlaps are what is expected: a judge
/// that sees none there would see none anywhere.
inline void judge_failover(guarded_thing::findings const& seen, bool safe, judge& by) {
  by.demand(!safe || seen.overlaps == 0,
            fmt::format("{} grants while another held the resource", seen.overlaps));
  by.demand(safe || seen.overlaps > 0,
            "no overlap was seen although nothing prevents them: this judge sees none, or the "
            "failovers came about too late");
}

}  // namespace herdlock::lab
