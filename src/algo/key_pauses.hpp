// Keys for which something has failed, and until when it is not tried again. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include <herdlock/types.hpp>

namespace herdlock::algo {

struct pause_bounds {
  milliseconds first{500};
  milliseconds longest{60'000};
  std::size_t most_keys = 1024;
};

/// Each failure in a row doubles the pause of its key. A key is forgotten when nothing has failed
/// for as long as its pause was, after that. At the bound of keys one more is not remembered: it is
/// tried each time.
class key_pauses {
 public:
  explicit key_pauses(pause_bounds bounds = {}) : bounds_(bounds) {}

  /// O(log n); once a second O(n).
  void failed(std::string_view key, clock::time_point now) {
    forget_old(now);
    auto at = keys_.find(key);
    if (at != keys_.end()) {
      at->second.length = std::min(2 * at->second.length, bounds_.longest);
    } else if (keys_.size() < bounds_.most_keys) {
      at = keys_.emplace(key, pause{{}, bounds_.first}).first;
    } else {
      return;
    }
    at->second.until = now + at->second.length;
  }

  bool pauses(std::string_view key, clock::time_point now) const {
    if (keys_.empty()) return false;
    auto const at = keys_.find(key);
    return at != keys_.end() && now < at->second.until;
  }

  void forget(std::string_view key) {
    if (keys_.empty()) return;
    if (auto const at = keys_.find(key); at != keys_.end()) keys_.erase(at);
  }

  std::size_t size() const noexcept { return keys_.size(); }

 private:
  struct pause {
    clock::time_point until;
    milliseconds length;
  };

  void forget_old(clock::time_point now) {
    if (now < next_sweep_) return;
    next_sweep_ = now + milliseconds{1000};
    std::erase_if(keys_,
                  [&](auto const& one) { return one.second.until + one.second.length <= now; });
  }

  pause_bounds bounds_;
  std::map<std::string, pause, std::less<>> keys_;
  clock::time_point next_sweep_{};
};

}  // namespace herdlock::algo
