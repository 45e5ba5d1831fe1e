#include "common/guard.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

constexpr milliseconds slowest{200};  // of killing again
constexpr milliseconds between_looks{2000};
constexpr unsigned often = 16;  // of them is one at all processes, at the latest

}  // namespace

guard::guard(asio::io_context& io, lease const& held, guard_options options,
             prepared_command const& command, std::function<void(int)> on_end)
    : io_(io),
      lease_(held),
      options_(std::move(options)),
      program_(command.name()),
      on_end_(std::move(on_end)),
      margin_(std::min(milliseconds{250}, options_.stop_grace / 4)),
      terminal_(options_.terminal),
      dog_(last_moment_of_the_dog(), command.mark()),
      children_(io, SIGCHLD),
      alarm_(io.get_executor()),
      stop_alarm_(io.get_executor()),
      look_(io.get_executor()),
      group_(command, terminal_, dog_,
             {held.valid() ? last_moment() : clock::time_point::min(),
              [this] { dog_.allow_until(last_moment_of_the_dog()); }}) {
  await_children();
  look_at(clock::now() + between_looks);
  watch_validity();
  await_loss();
  // The lease may have ended while the command was being started; and a child may have ended
  // before SIGCHLD had a handler.
  asio::post(io_, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    if (!in_time()) lose();
    on_children();
  });
}

// Why: docs/decisions/command.md#a-margin-is-kept-twice
clock::time_point guard::last_moment() const { return lease_.valid_until() - 2 * margin_; }

clock::time_point guard::last_moment_of_the_dog() const {
  if (ignores_loss()) return clock::time_point::max();
  return lease_.valid_until() - 3 * margin_ / 2;
}

bool guard::in_time() const { return lease_.valid() && clock::now() < last_moment(); }

// Every renewal moves the end away, so the alarm looks again when it rings: at half of what is
// left, since the watchdog knows of a renewal only what it is told here.
void guard::watch_validity() {
  dog_.allow_until(last_moment_of_the_dog());
  auto const now = clock::now();
  auto const left = last_moment() - now;
  auto const next = left > milliseconds{20} ? now + left / 2 : last_moment();
  alarm_.set(next, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || state_ == state::ended) return;
    if (clock::now() < last_moment()) return watch_validity();
    lose();
  });
}

// The time is read where the signal is given, on the store's thread, not when this thread gets
// to it: it tells "the store says so" from "no renewal got through".
void guard::await_loss() {
  auto noticed = [this, &io = io_, alive = std::weak_ptr(alive_)](failure const& why) {
    if (why == errc::canceled) return;
    // The guard may be ending on its own thread; `io` outlives the lease's handlers.
    if (alive.expired()) return;
    asio::post(io, [this, alive, at = clock::now()] {
      if (!alive.expired()) on_loss(at);
    });
  };
  lease_.async_wait_lost(std::move(noticed));
}

void guard::on_loss(clock::time_point noticed) {
  if (state_ == state::killing || state_ == state::ended) return;
  bool const store_says_so = noticed < lease_.valid_until() - options_.notice;
  bool const at_once = store_says_so || options_.on_loss != loss_policy::term;
  if (at_once || clock::now() >= last_moment()) return lose();
  if (state_ != state::running) return;
  state_ = state::stopping;
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped process would not see the SIGTERM
  announce_loss();
}

void guard::end() {
  if (state_ == state::ended) return;
  if (asked_) return kill_all();
  asked_ = true;
  if (state_ != state::running) return;
  state_ = state::stopping;
  signal_all(SIGTERM);
  signal_all(SIGCONT);
  stop_alarm_.set(clock::now() + options_.stop_grace, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) kill_all();
  });
  on_children();
}

// After the signal, never before it: nothing that is wrong with standard error, or with memory,
// may give the command a moment more.
void guard::announce_loss() noexcept {
  if (std::exchange(lost_, true)) return;
  try {
    failure const why = lease_.lost_reason();
    std::string const reason = why.code ? why.message : "no renewal got through in time";
    options_.tell_loss(fmt::format("the lease is lost, {} {}: {}",
                                   ignores_loss() ? "going on with" : "ending", program_, reason),
                       reason);
  } catch (std::exception const&) {  // no memory for the line
  }
}

// What runs as another user gets no signal of ours. That is told when it is seen, and before
// anything depends on it, if it can be.
void guard::signal_all(int number) {
  work_seen const seen = group_.signal_all(number);
  if (seen.refused == 0 || std::exchange(told_of_refusal_, true)) return;
  tell_trouble("runs as another user and cannot be stopped; start herdlock as that user",
               seen.refused);
}

void guard::tell_trouble(char const* text, pid_t of) noexcept {
  try {
    options_.tell_trouble(fmt::format("process {} of {} {}", of, program_, text));
  } catch (std::exception const&) {  // no memory for the line
  }
}

// SIGCHLD may be lost on us, and nothing tells of a process that changes its user. All processes
// are looked at for the latter, more seldom: after 2, 4, 8, 16 s, then each 32 s.
void guard::look_at(clock::time_point when) {
  look_.cancel();  // or both would ring
  look_.set(when, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || state_ == state::ended) return;
    auto const now = clock::now();
    look_at(now + between_looks);
    // A turn for what there is left to reap is no look.
    if (now - looks_.last >= between_looks) {
      looks_.last = now;
      bool const due = std::has_single_bit(++looks_.count) || looks_.count % often == 0;
      if (!told_of_refusal_ && due) signal_all(0);
    }
    on_children();
  });
}

void guard::kill_all() {
  if (state_ == state::killing || state_ == state::ended) return;
  state_ = state::killing;
  told_of_refusal_ = false;  // now it matters
  signal_all(SIGKILL);
  kill_again();
}

// A process may be born while its siblings are being counted, and the end of a grandchild sends us
// no signal.
void guard::kill_again() {
  auto const next = clock::now() + std::exchange(kill_pause_, std::min(kill_pause_ * 2, slowest));
  stop_alarm_.set(next, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || state_ == state::ended) return;
    signal_all(SIGKILL);
    kill_again();
  });
}

void guard::lose() {
  if (state_ == state::ended) return;
  if (!ignores_loss()) kill_all();
  announce_loss();
  on_children();
}

// A handler that is ready when the last of the group has gone runs when `io_` is run again, for
// the release: then there is no guard any more, and no error code says so.
void guard::await_children() {
  children_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code code, int) {
    if (code || alive.expired()) return;
    await_children();
    on_children();
  });
}

// The deadlines come first: a command may leave orphans faster than they are reaped, and each turn
// is followed by the next until all are.
void guard::on_children() {
  if (state_ == state::ended) return;
  dog_.allow_until(last_moment_of_the_dog());
  group_changes const changes = group_.collect();
  if (changes.stopped_by != 0) stop_with_command(changes.stopped_by);
  if (changes.more) return look_at(clock::now());
  if (!group_.leader_status()) return;
  // Ctrl-C is to reach us, if nobody is left in the foreground.
  if (group_.group_gone()) terminal_.take_back();
  if (!group_.gone()) return;
  // Asked of the clock itself: a loss that nobody has told us of yet counts, and so does what the
  // watchdog did about it.
  if (!lost_ && !in_time()) announce_loss();
  finish();
}

void guard::finish() {
  state_ = state::ended;
  dog_.stand_down();
  alarm_.cancel();
  stop_alarm_.cancel();
  look_.cancel();
  children_.cancel();
  terminal_.take_back();
  bool const ends_lost = lost_ && !ignores_loss();
  on_end_(ends_lost ? static_cast<int>(exit_code::lost) : *group_.leader_status());
}

void guard::forward(int number) {
  if (number == SIGCONT) return on_continue();
  if (number == SIGTSTP) told_to_stop_ = true;
  if (state_ == state::ended) return;
  // Who left the group gave up what is sent to it; but not its end.
  bool const ends = number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
  if (!ends) return group_.signal(number);
  signal_all(number);
  signal_all(SIGCONT);  // a stopped process would not see it
}

// Ctrl-Z reaches the command only, which has the terminal. The shell is to see its job stop. The
// lease is not renewed meanwhile, so nothing of the group may work on, not even a process that
// ignores SIGTSTP; on_continue() looks at what is left of the lease.
void guard::stop_with_command(int stopped_by) {
  if (stopped_by == SIGTTIN || stopped_by == SIGTTOU) {
    tell_trouble("or what it started has stopped: it wants the terminal, which it does not have",
                 group_.id());
  }
  if (!terminal_.present() && !told_to_stop_) return;
  told_to_stop_ = false;
  signal_all(SIGSTOP);
  terminal_.take_back();
  ::kill(terminal_.present() ? 0 : ::getpid(), SIGSTOP);
}

void guard::on_continue() {
  if (state_ == state::ended) return;
  if (!in_time()) lose();
  if (state_ == state::killing || state_ == state::ended) return;
  terminal_.look_again();
  terminal_.give_to(group_.id());
  signal_all(SIGCONT);
}

}  // namespace herdlock::cli
