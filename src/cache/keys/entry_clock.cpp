#include "cache/keys/entry_clock.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::runtime {
namespace {

// A store that did not tell its clock is not asked again for so long.
constexpr milliseconds pause_of_clock{1000};

// Each text is kept once, and this one names no key.
void warn_without_clock(cache_home& home, failure const& why) {
  bool const may_pass = why == errc::unavailable || why == errc::timed_out ||
                        why == errc::canceled || why == errc::overloaded;
  if (may_pass) return;
  home.counters.warnings.add(
      home.in_words() +
      " cannot ask the store for its time: what it stores has no grace, and it loads anew what "
      "others have stored with one, unless the store's claim says that it is fresh: " +
      why.message + "; permit TIME");
}

}  // namespace

void entry_clock::ask(cache_store& values, handler<void> done) {
  values.now([this, keep = home_->keep(), sent = clock::now(),
              done = std::move(done)](result<std::chrono::microseconds> said) mutable {
    if (said.has_value()) {
      clock_.told(*said, sent, clock::now());
      return std::move(done)(boost::system::in_place_value);
    }
    ask_again_ = clock::now() + pause_of_clock;
    warn_without_clock(*home_, said.error());
    std::move(done)(std::move(said).error());
  });
}

void entry_clock::keep(cache_store& values) {
  auto const now = clock::now();
  if (now < std::max(clock_.due(), ask_again_) || std::exchange(asking_, true)) return;
  ask(values, [this](result<void> const&) { asking_ = false; });
}

}  // namespace herdlock::runtime
