// What a scene's server is warned of.
#pragma once

#include <herdlock/lock.hpp>

#include "stage/place.hpp"
#include "terminal/warnings.hpp"

namespace herdlock::lab {

/// The processes' stores are in other processes: one question to the same server tells what they
/// saw. What the teller has told before is not told again.
inline void tell_warnings(std::string const& url, cli::warnings_teller teller = {}) {
  try {
    store const asked = open_here(url);
    lock(asked, fresh_name()).inspect();
    teller.tell(asked);
  } catch (std::runtime_error const&) {  // its trouble showed in the answers
  }
}

}  // namespace herdlock::lab
