#include "runtime/lease_roll.hpp"

#include <algorithm>

#include "algo/lease_machine.hpp"

namespace herdlock::runtime {
namespace {

struct by_owner {
  bool operator()(owner_token const& a, enrolled const& b) const {
    return a.str() < b.owner().str();
  }
  bool operator()(enrolled const& a, owner_token const& b) const {
    return a.owner().str() < b.str();
  }
};

}  // namespace

void lease_roll::tell(lease_end const& what) {
  for (;;) {
    auto const found = all_.find(what.owner, by_owner{});
    if (found == all_.end()) return;
    auto& one = *found;
    leave(one);
    one.on_session_end(what);
  }
}

void lease_roll::renew_all(clock::time_point now, double random) {
  auto shortest = milliseconds::max();
  for (auto const& one : all_) shortest = std::min(shortest, one.ttl());
  auto const window = algo::new_connection_window(shortest);
  auto const at = now + std::chrono::duration_cast<clock::duration>(window * random);
  for (auto& one : all_) one.renew_by(at);
}

void lease_roll::tell_closing() {
  while (!all_.empty()) {
    auto& one = *all_.begin();
    leave(one);
    one.on_closing();
  }
}

}  // namespace herdlock::runtime
