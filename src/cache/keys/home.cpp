#include "cache/keys/home.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace herdlock::runtime {

milliseconds cache_home::ttl_of(cache_value const& value, std::optional<milliseconds> set) const {
  auto const own = std::holds_alternative<absent>(value) ? options.negative_ttl : options.ttl;
  auto const base = set.value_or(own);
  // The loader may know when its value ends to be true: no jitter makes that later.
  double const most = set ? 0 : 1;
  double const share = 1.0 + options.ttl_jitter * (most - (1 + most) * random_unit());
  auto const varied = milliseconds(static_cast<std::int64_t>(double(base.count()) * share));
  return std::clamp(varied, limits::min_ttl, limits::max_ttl);
}

cache_options cache_home::watched(cache_options how) {
  auto observer = std::exchange(how.observer, {});
  if (observer.call) {
    counters.events = std::make_shared<cache_events>(std::move(observer), how.prefix.size());
  }
  return how;
}

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
