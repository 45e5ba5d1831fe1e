// Which processes are a command's, as /proc tells it. Nothing here allocates or locks: the child of
// a process with threads may call it, too.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace herdlock::cli {

/// How many processes of a machine are looked at; those beyond are not seen.
inline constexpr std::size_t max_seen_processes = 65'536;
/// How many children that were there before the command are told apart from it; more are taken for
/// its own.
inline constexpr std::size_t max_strangers = 1024;

/// A process that sleeps in the kernel (state D) may hold the lock which is needed to read its
/// environment: then whoever reads hangs with it.
enum class kernel_sleepers { asked, passed_over };

/// What the command's processes are known by: one of these, or a parent that is.
struct work_signs {
  pid_t ancestor = 0;          ///< they descend from it
  pid_t group = 0;             ///< they are in this process group; 0: says nothing
  char const* mark = nullptr;  ///< they have this text in their environment; null: says nothing
  kernel_sleepers sleepers = kernel_sleepers::asked;  ///< for the mark
  pid_t const* spared = nullptr;  ///< never these, nor what descends from them alone; ends with 0
  pid_t only_in = 0;              ///< who is in another group than this counts for nothing
  pid_t served = 0;  ///< who is in this group has had the signal, and is only asked as by 0
};

struct work_seen {
  bool known = false;      ///< else /proc could not be read: there may be any number
  std::size_t living = 0;  ///< that were found
  pid_t refused = 0;       ///< one of them that we may not signal, being another user's; 0: none
  pid_t one = 0;           ///< one of them; 0: none
  bool none() const { return known && living == 0; }
};

/// Sends the signal to each of them that lives, never to this process or `ancestor`; 0 only asks
/// whether they could get one. A process is named by a pidfd and looked at again before it gets
/// the signal, so that a number that was given to a stranger meanwhile does no harm. SIGKILL goes
/// to the ancestor's children first, before the list of all processes is read, which may take long.
work_seen signal_work(work_signs const& signs, int number) noexcept;

/// The youngest child of this process that is in the group, be it a zombie, but not this one; 0:
/// none, or the kernel does not list children (CONFIG_PROC_CHILDREN).
pid_t youngest_child_in(pid_t group, pid_t but_not) noexcept;

/// The children of this process at the moment, at most `most`; `into` ends with 0.
void list_children(pid_t* into, std::size_t most) noexcept;

/// What `ps`, `pkill` and `killall` see of this process: its name and, instead of its arguments,
/// the name again.
void rename_process(char const* name) noexcept;

/// Closes every descriptor from `first` on, by close_range() or, on kernels before 5.9, one by one.
void close_from(int first) noexcept;
/// The second way.
void close_one_by_one_from(int first) noexcept;

}  // namespace herdlock::cli
