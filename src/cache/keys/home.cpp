#include "cache/keys/home.hpp"

namespace herdlock::runtime {

cache_options cache_home::expressed(cache_options options) {
  if (options.ttl != herdlock::lasting) return options;
  if (options.lasting.refresh_every == milliseconds{0}) {
    options.ttl = limits::max_ttl;
    options.ttl_jitter = 0;
  } else {
    options.ttl = options.lasting.refresh_every;
    // The jitter of the ttl has room.
    options.freshness.grace = limits::max_ttl - 2 * options.lasting.refresh_every;
  }
  return options;
}

}  // namespace herdlock::runtime
