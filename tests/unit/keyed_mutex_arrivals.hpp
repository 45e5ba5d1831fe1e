// Who came through a keyed_mutex, in order.
#pragma once

#include <herdlock/keyed_mutex.hpp>
#include <utility>
#include <vector>

namespace herdlock {

/// Handlers that note who came through, and keep what they got.
struct arrivals {
  std::vector<int> order;
  std::vector<result<keyed_mutex::guard>> got;

  auto note(int who) {
    return [this, who](result<keyed_mutex::guard> r) {
      order.push_back(who);
      got.push_back(std::move(r));
    };
  }
};

}  // namespace herdlock
