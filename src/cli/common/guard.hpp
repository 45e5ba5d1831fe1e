// The command under a lease: from its start until nothing of it is left.
//
//        lost token / alarm / end()             alarm, or the store says
//   running ────────────────────▶ stopping ──────────────────────────────▶ killing
//      │      SIGTERM to the group     │    "another's": SIGKILL              │
//      │ group gone                    │ group gone                           │ group gone
//      ▼                               ▼                                      ▼
//    ended ◀────────────────────────── ◀───────────────────────────────────── ◀
//
// The lease is kept, and watched, until the last process of the command has ended: what the leader
// leaves behind works under it too, in its group or not.
//
// Three things watch the lease, so that none must be trusted alone: the lease's own loss signal,
// which fires `notice` before valid_until(); an alarm of ours at valid_until() less two margins,
// which needs neither the store's thread nor the store; and a watchdog half a margin later, which
// does not need this process.
//
// The margin is what is promised: so long before valid_until() nothing of the command is left. On a
// busy machine whoever rings gets to run late; so the alarm may be late by a margin, and the
// watchdog by half of one, and the promise is kept.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <herdlock/lease.hpp>
#include <memory>

#include "common/boot_alarm.hpp"
#include "common/process_group.hpp"

namespace herdlock::cli {

/// What becomes of the command when the lease can be renewed no more, `stop_grace` before its end.
enum class loss_policy {
  term,    ///< SIGTERM; SIGKILL before the lease can be another's
  kill,    ///< SIGKILL
  ignore,  ///< it runs on, beside whoever comes next; it still ends with this process
};

struct guard_options {
  milliseconds stop_grace;  ///< from SIGTERM to SIGKILL
  milliseconds notice;      ///< the lease's loss_margin, see stopping_times
  loss_policy on_loss = loss_policy::term;
  job_control terminal = job_control::given;
  /// Told of the loss, after the signal; `text` is for people.
  std::function<void(std::string const& text, std::string const& why)> tell_loss{};
  /// Told what is wrong with the command.
  std::function<void(std::string const& text)> tell_trouble{};
};

class guard {
 public:
  /// Starts the command. Throws command_error when it cannot be executed, or (lost) when the lease
  /// is over before it is. `on_end` is called on `io`, once, when all of the command has
  /// ended, with the leader's exit status, or `lost` unless losses are ignored.
  guard(asio::io_context& io, lease const& held, guard_options options,
        prepared_command const& command, std::function<void(int)> on_end);

  /// A signal that herdlock itself was sent.
  void forward(int number);

  /// The command is to end although the lease is ours: SIGTERM, and SIGKILL after stop_grace, or at
  /// once when it is asked for again.
  void end();

 private:
  enum class state { running, stopping, killing, ended };

  void await_loss();
  void await_children();
  void watch_validity();
  void on_loss(clock::time_point noticed);
  void on_children();
  void on_continue();
  void stop_with_command(int stopped_by);
  void announce_loss() noexcept;
  void signal_all(int number);
  void look_at(clock::time_point when);
  void tell_trouble(char const* text, pid_t of) noexcept;
  void kill_all();
  void kill_again();
  void lose();
  void finish();
  clock::time_point last_moment() const;
  clock::time_point last_moment_of_the_dog() const;
  bool in_time() const;
  bool ignores_loss() const { return options_.on_loss == loss_policy::ignore; }

  asio::io_context& io_;
  lease const& lease_;
  guard_options const options_;
  std::string const program_;
  std::function<void(int)> on_end_;
  milliseconds const margin_;
  terminal terminal_;
  watchdog dog_;
  asio::signal_set children_;
  boot_alarm alarm_;
  boot_alarm stop_alarm_;
  boot_alarm look_;
  process_group group_;  // last, since nothing may fail once the command runs
  state state_ = state::running;
  bool lost_ = false;
  milliseconds kill_pause_{5};
  bool asked_ = false;  // by end()
  bool told_of_refusal_ = false;
  struct {
    unsigned count = 0;
    clock::time_point last{};
  } looks_;
  std::shared_ptr<void> alive_ = std::make_shared<char>();
  bool told_to_stop_ = false;  // SIGTSTP: when the command has stopped, so do we
};

}  // namespace herdlock::cli
