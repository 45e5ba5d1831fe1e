#include "common/group_reaper.hpp"

#include <signal.h>

#include <utility>

namespace herdlock::cli {

group_changes group_reaper::turn() {
  group_changes changes;
  walked_ = false;
  for (int i = 0; i < children_per_turn; ++i) {
    if (auto const child = at_.ended()) {
      if (!may_reap(child->id)) break;
      at_.reap(child->id);
      if (child->id != group_) continue;
      leader_status_ = child->code == CLD_EXITED ? child->status : 128 + child->status;
      changes.leader_ended = true;
    } else if (auto const one = at_.stopped()) {
      bool const left = leader_status_ && at_.group_of(one->id) == group_;
      if (one->id == group_ || left) changes.stopped_by = one->status;
    } else {
      return changes;
    }
  }
  changes.more = true;
  return changes;
}

bool group_reaper::may_reap(pid_t child) {
  if (over_ || at_.group_of(child) != group_ || is_kept_by_another(child)) return true;
  if (std::exchange(walked_, true)) return false;
  work_seen const seen = at_.walk(group_);
  keeper_ = seen.one;
  if (!seen.none()) return true;
  over_ = true;
  at_.group_is_over();
  return true;
}

bool group_reaper::is_kept_by_another(pid_t child) {
  bool const known = keeper_ > 0 && keeper_ != child && at_.group_of(keeper_) == group_;
  if (!known) keeper_ = at_.child_in(group_, child);
  return keeper_ > 0;
}

}  // namespace herdlock::cli
