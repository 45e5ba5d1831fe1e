#include "runtime/lease_roll.hpp"

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

void lease_roll::tell_closing() {
  while (!all_.empty()) {
    auto& one = *all_.begin();
    leave(one);
    one.on_closing();
  }
}

}  // namespace herdlock::runtime
