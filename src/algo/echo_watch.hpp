// Whether what is sent comes back: each thing that comes back ends the doubt about all before it.
// Pure.
#pragma once

#include <optional>

#include <herdlock/types.hpp>

namespace herdlock::algo {

class echo_watch {
 public:
  void sent(clock::time_point now) noexcept {
    if (!since_) since_ = now;
  }
  void came_back() noexcept { since_.reset(); }
  bool is_lost(clock::time_point now, clock::duration patience) const noexcept {
    return since_ && now - *since_ >= patience;
  }

 private:
  std::optional<clock::time_point> since_;  // nothing has come back since this was sent
};

}  // namespace herdlock::algo
