// Which of our children is reaped, and when the number of the command's process group means nothing
// any more. A command may leave more orphans than can be reaped at once: each turn does a bounded
// piece of work, so that deadlines and signals have theirs in between.
//
// The group's number is taken as long as one of its processes is there, be it a zombie. So before
// one of them is reaped, another is looked for that keeps the number: the one that did so last, a
// child of ours, and only then any process of the machine, at most once in a turn.
#pragma once

#include <optional>

#include "common/work_processes.hpp"

namespace herdlock::cli {

/// Children that are reaped, or seen to stop, in one turn.
inline constexpr int children_per_turn = 64;

/// What became of the group's children since the last look.
struct group_changes {
  bool leader_ended = false;
  int stopped_by = 0;  ///< a signal: the leader, or, after its end, one of those that it left
  bool more = false;   ///< there is more to do: another turn, and soon
};

/// What the kernel says of a child.
struct child_news {
  pid_t id;
  int code;    ///< CLD_EXITED, CLD_STOPPED, …
  int status;  ///< the exit status, or a signal
};

/// The kernel, as the reaper sees it.
class child_table {
 public:
  virtual ~child_table() = default;
  /// One that has ended; it stays there until it is reaped.
  virtual std::optional<child_news> ended() = 0;
  /// One that has stopped; each is told once.
  virtual std::optional<child_news> stopped() = 0;
  virtual void reap(pid_t child) = 0;
  /// -1 when there is no such process.
  virtual pid_t group_of(pid_t process) = 0;
  /// The youngest of our children in that group, be it a zombie, but not this one; 0: none.
  virtual pid_t child_in(pid_t group, pid_t but_not) = 0;
  /// The command's processes in that group, as the list of all processes tells it: takes long.
  virtual work_seen walk(pid_t group) = 0;
  /// The last one of the group is about to be reaped.
  virtual void group_is_over() = 0;
};

class group_reaper {
 public:
  /// `leader`, a child of ours, leads the group of the same number.
  group_reaper(child_table& at, pid_t leader) : at_(at), group_(leader), keeper_(leader) {}

  group_changes turn();

  bool group_over() const { return over_; }
  /// As a shell gives it; nothing while the leader runs.
  std::optional<int> const& leader_status() const { return leader_status_; }

 private:
  bool may_reap(pid_t child);
  bool is_kept_by_another(pid_t child);

  child_table& at_;
  pid_t group_;
  pid_t keeper_;         // of the number, when it was looked at last
  bool walked_ = false;  // in this turn
  bool over_ = false;
  std::optional<int> leader_status_;
};

}  // namespace herdlock::cli
