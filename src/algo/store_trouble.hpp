// The meaning of one failure of a store for the requests that come next.
//
//   what failed     it could not be reached,  it did not answer,   it refused this key: no rights,
//                   or refuses all of these   or the kernel says   no sense in its answer, a bound,
//                   (unavailable)             why (timed_out …)    a slot that is being moved
//   ────────────    ───────────────────────   ────────────────── ─────────────────────────────────
//   a read          reads                     reads                this key
//   a claim, a
//   step around it  claims                    reads and claims     this key
//   a fill          this key                  reads and claims     this key
//
// A claim is small and writes: a server that has no room for it, cannot save or has too few
// replicas refuses every other claim, too, and still answers reads. A fill is as large as its
// value: another one may well have room.
//
// Pure.
#pragma once

#include <herdlock/error.hpp>

namespace herdlock::algo {

/// A step that a load asks of a store.
enum class store_step {
  read,
  claim,
  wait,  ///< for the end of another's load
  extend,
  fill,
  end,  ///< of a claim, without a value
};

/// The requests that would meet the same trouble.
enum class trouble_scope {
  none,    ///< it is an answer
  key,     ///< those for this key
  reads,   ///< all reads
  claims,  ///< all claims
  store,   ///< everything
};

trouble_scope scope_of(store_step step, failure const& why);

}  // namespace herdlock::algo
