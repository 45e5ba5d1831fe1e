// The judge of `many-caches`.
#pragma once

#include <fmt/format.h>

#include "stage/report.hpp"

namespace herdlock::lab {

struct many_caches_figures {
  double made_s = 0, made_mb = 0;
  double called_mb = 0;     ///< once each of them was called
  double idle_percent = 0;  ///< of a processor, while nobody calls
};

inline void judge_many_caches(many_caches_figures const& seen, judge& into) {
  into.demand(seen.called_mb <= 10,
              fmt::format("they take {:.1f} MB, more than 10", seen.called_mb));
  into.demand(
      seen.idle_percent <= 0.5,
      fmt::format("while idle they use {:.2f} % of a processor, more than 0.5", seen.idle_percent));
}

}  // namespace herdlock::lab
