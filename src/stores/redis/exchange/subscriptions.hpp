// What the exchanges do alike with those who listen to them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// Forgets whose listener has gone, and leaves the channels that nobody hears any more. A
/// Subscription has a `channel`, and its listener as the weak pointer `to`.
template <class Subscription>
void drop_without_listener(std::vector<std::shared_ptr<Subscription>>& all, connection& events) {
  std::vector<std::string> left;
  std::erase_if(all, [&](auto const& one) {
    bool const gone = one->to.expired();
    if (gone) left.push_back(one->channel);
    return gone;
  });
  for (auto const& channel : left) {
    bool const is_heard = std::any_of(all.begin(), all.end(),
                                      [&](auto const& one) { return one->channel == channel; });
    if (!is_heard && events.up()) events.subscription("UNSUBSCRIBE", channel);
  }
}

}  // namespace herdlock::redis
