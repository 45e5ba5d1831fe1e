// What a demo's server is warned of.
#pragma once

#include <herdlock/lock.hpp>
#include <string>

#include "terminal/warnings.hpp"

namespace herdlock::cli {

/// The workers' stores are in other processes: one question to the same server tells what they saw.
/// What the teller has told before is not told again.
inline void tell_warnings(std::string const& url, warnings_teller teller = {}) {
  try {
    store const asked = open_store(url);
    lock(asked, "herdlock-demo").inspect();
    teller.tell(asked);
  } catch (error const&) {  // its trouble showed in the answers
  }
}

}  // namespace herdlock::cli
