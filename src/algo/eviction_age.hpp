// How long a server keeps what nobody asks for, before it evicts it.
//
// What a process serves by itself looks idle to the server, which evicts it first: then every
// process misses at once. Who knows this age can say "in use" early enough, and no oftener.
//
// Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <herdlock/types.hpp>

namespace herdlock::algo {

struct eviction_figures {
  std::uint64_t keys = 0;     ///< there now
  std::uint64_t evicted = 0;  ///< since the server was started
};

class eviction_age {
 public:
  /// How many keys were evicted since the last look. Of two looks that are too close to tell
  /// anything the first counts.
  std::uint64_t told(eviction_figures figures, clock::time_point now) {
    constexpr milliseconds closest{500};
    if (last_ && now - last_->at < closest) return 0;
    age_ = last_ ? between(*last_, figures, now) : std::nullopt;
    bool const went_on = last_ && figures.evicted >= last_->figures.evicted;
    auto const evicted = went_on ? figures.evicted - last_->figures.evicted : 0;
    last_ = look{figures, now};
    return evicted;
  }

  /// Nothing: it evicted nothing between the last two looks, or there were none.
  std::optional<milliseconds> of_idle() const noexcept { return age_; }

 private:
  struct look {
    eviction_figures figures;
    clock::time_point at;
  };

  // Evicting goes through what is idle at this rate; all there is takes so long.
  static std::optional<milliseconds> between(look const& before, eviction_figures now,
                                             clock::time_point at) {
    bool const restarted = now.evicted < before.figures.evicted;
    if (restarted || now.evicted == before.figures.evicted) return std::nullopt;
    auto const rate = double(now.evicted - before.figures.evicted) /
                      std::chrono::duration<double, std::milli>(at - before.at).count();
    auto const age = std::min(double(now.keys) / rate, double(limits::max_ttl.count()));
    return milliseconds(static_cast<std::int64_t>(age));
  }

  std::optional<look> last_;
  std::optional<milliseconds> age_;
};

/// How often what is in use is to be told to a server with this age; nothing: it need not be. A
/// quarter of it: a server looks at some of its keys and takes the most idle of these, so that
/// younger ones go, too.
inline std::optional<milliseconds> touch_interval(std::optional<milliseconds> age) {
  constexpr milliseconds shortest{1000}, longest{60'000};
  if (!age) return std::nullopt;
  return std::clamp(*age / 4, shortest, longest);
}

}  // namespace herdlock::algo
