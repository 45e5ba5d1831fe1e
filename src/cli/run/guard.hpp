// The command under a lease: from its start until nothing of it is left.
//
//            lost token / alarm                    alarm, or the store says
//   running ────────────────────▶ stopping ──────────────────────────────▶ killing
//      │      SIGTERM to the group     │    "another's": SIGKILL              │
//      │ group gone                    │ group gone                           │ group gone
//      ▼                               ▼                                      ▼
//    ended ◀────────────────────────── ◀───────────────────────────────────── ◀
//
// The lease is kept, and watched, until the last process of the group has ended: what the leader
// leaves behind works under it too.
//
// Two things watch the lease, so that neither must be trusted alone: the lease's own loss signal,
// which fires `grace` before valid_until(), and an alarm of ours at valid_until() less a margin,
// which needs neither the store's thread nor the store.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <herdlock/lease.hpp>
#include <memory>
#include <optional>

#include "run/boot_alarm.hpp"
#include "run/process_group.hpp"
#include "run/run_options.hpp"
#include "run/terminal.hpp"

namespace herdlock::cli {

class guard {
 public:
  /// Starts the command. Throws command_error when it cannot be executed, or (lost) when the lease
  /// is over before it is.
  guard(asio::io_context& io, lease& held, run_options const& options,
        prepared_command const& command);

  /// Runs `io` until all of the command's group has ended. The leader's exit status, or `lost`.
  int wait();

  /// A signal that herdlock itself was sent.
  void forward(int number);

 private:
  enum class state { running, stopping, killing, ended };

  void await_loss();
  void await_children();
  void watch_validity();
  void on_loss(clock::time_point noticed);
  void on_children();
  void on_continue();
  void stop_with_command();
  void announce_loss() noexcept;
  void kill_group();
  clock::time_point last_moment() const;
  bool in_time() const;

  asio::io_context& io_;
  lease& lease_;
  run_options const& options_;
  milliseconds kill_margin_;
  terminal terminal_;
  process_group group_;
  asio::signal_set children_;
  boot_alarm alarm_;
  state state_ = state::running;
  bool lost_ = false;
  std::shared_ptr<void> alive_ = std::make_shared<char>();
  bool told_to_stop_ = false;  // SIGTSTP: when the command has stopped, so do we
};

}  // namespace herdlock::cli
