// Events of a load machine that many tests have.
#pragma once

#include "algo/load_machine.hpp"

namespace herdlock::algo {

inline constexpr claim_answered granted{claim_answer::granted};
inline constexpr claim_answered unreadable{claim_answer::unreadable};
inline constexpr watch_answered look_again{watch_answer::look_again, 0.5};
inline constexpr loader_done loaded{load_result::storable};

constexpr claim_answered busy(milliseconds remaining) {
  return {claim_answer::busy, remaining, 0.5};
}

}  // namespace herdlock::algo
