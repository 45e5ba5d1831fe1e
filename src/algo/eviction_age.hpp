// How long a server keeps what nobody asks for, before it evicts it.
//
// Entries that processes serve by themselves look idle to the server, which evicts them first: then
// all miss at once. A process that knows this age says "in use" early enough, and no oftener.
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
  /// How many keys were evicted since the last look. If two looks are too close to tell anything,
  /// the first counts.
  std::uint64_t told(eviction_figures figures, clock::time_point now) {
    constexpr milliseconds closest{500};
    if (last_ && now - last_->at < closest) return 0;
    age_ = last_ ? between(*last_, figures, now) : std::nullopt;
    bool const went_on = last_ && figures.evicted >= last_->figures.evicted;
    auto const evicted = went_on ? figures.evicted - last_->figures.evicted : 0;
    last_ = look{figures, now};
    return evicted;
  }

  /// The age; nothing: no key was evicted between the last two looks, or there were none.
  std::optional<milliseconds> of_idle() const noexcept { return age_; }

 private:
  struct look {
    eviction_figures figures;
    clock::time_point at;
  };

  // The server evicts idle keys at this rate; to evict all keys takes so long.
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

/// How often a server with this age is to be told what is in use; nothing: never. A quarter of the
/// age: a server looks at some of its keys and takes the most idle of these, so that younger ones
/// go, too.
inline std::optional<milliseconds> touch_interval(std::optional<milliseconds> age) {
  constexpr milliseconds shortest{1000}, longest{60'000};
  if (!age) return std::nullopt;
  return std::clamp(*age / 4, shortest, longest);
}

}  // namespace herdlock::algo
