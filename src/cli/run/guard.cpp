#include "run/guard.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "common/exit_code.hpp"
#include "run/notice.hpp"

namespace herdlock::cli {

guard::guard(asio::io_context& io, lease& held, run_options const& options,
             prepared_command const& command)
    : io_(io),
      lease_(held),
      options_(options),
      kill_margin_(std::min(milliseconds{250}, options.grace / 4)),
      group_(command, terminal_, held.valid() ? last_moment() : clock::time_point::min()),
      children_(io, SIGCHLD),
      alarm_(io.get_executor()) {
  await_children();
  watch_validity();
  await_loss();
  // The lease may have ended while the command was being started; and a child may have ended
  // before SIGCHLD had a handler.
  asio::post(io_, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    if (!in_time()) kill_group();
    on_children();
  });
}

int guard::wait() {
  io_.restart();
  if (state_ != state::ended) io_.run();
  terminal_.take_back();
  return lost_ ? static_cast<int>(exit_code::lost) : *group_.leader_status();
}

clock::time_point guard::last_moment() const { return lease_.valid_until() - kill_margin_; }

bool guard::in_time() const { return lease_.valid() && clock::now() < last_moment(); }

// Every renewal moves the end away, so the alarm looks again when it rings.
void guard::watch_validity() {
  alarm_.set(last_moment(), [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || state_ == state::ended) return;
    if (clock::now() < last_moment()) return watch_validity();
    kill_group();
  });
}

// The time is read where the signal is given, on the store's thread, not when this thread gets
// to it: it tells "the store says so" from "no renewal got through".
void guard::await_loss() {
  auto noticed = [this, alive = std::weak_ptr(alive_)](result<void> outcome) {
    if (!outcome && outcome.error() == errc::canceled) return;
    auto const here = alive.lock();
    if (!here) return;
    asio::post(io_, [this, alive, at = clock::now()] {
      if (!alive.expired()) on_loss(at);
    });
  };
  lease_.async_wait_lost(std::move(noticed));
}

void guard::on_loss(clock::time_point noticed) {
  if (state_ != state::running) return;
  bool const store_says_so = noticed < lease_.valid_until() - options_.grace;
  if (store_says_so || clock::now() >= last_moment()) return kill_group();
  state_ = state::stopping;
  group_.signal(SIGTERM);
  group_.signal(SIGCONT);  // a stopped process would not see the SIGTERM
  announce_loss();
}

// After the signal, never before it: nothing that is wrong with standard error, or with memory,
// may give the command a moment more.
void guard::announce_loss() noexcept {
  if (std::exchange(lost_, true)) return;
  try {
    failure const why = lease_.lost_reason();
    std::string const reason = why.code ? why.message : "no renewal got through in time";
    notice(fmt::format("{}: the lease is lost, ending {}: {}", options_.name.str(),
                       options_.command.front(), reason));
  } catch (std::exception const&) {  // no memory for the line
  }
}

void guard::kill_group() {
  if (state_ == state::killing || state_ == state::ended) return;
  state_ = state::killing;
  group_.signal(SIGKILL);
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

void guard::on_children() {
  if (state_ == state::ended) return;
  group_changes const changes = group_.collect();
  if (changes.stopped) stop_with_command();
  if (state_ == state::running && group_.leader_status() && group_.gone()) {
    // Asked of the clock itself: a loss that nobody has told us of yet counts.
    if (!lease_.valid()) return kill_group();
    state_ = state::ended;
  } else if (lost_ && group_.gone()) {
    state_ = state::ended;
  }
  if (state_ != state::ended) return;
  alarm_.cancel();
  children_.cancel();
  io_.stop();
}

void guard::forward(int number) {
  if (number == SIGCONT) return on_continue();
  if (number == SIGTSTP) told_to_stop_ = true;
  if (state_ != state::ended) group_.signal(number);
}

// Ctrl-Z reaches the command only, which has the terminal. The shell is to see its job stop. The
// lease is not renewed meanwhile, so nothing of the group may work on, not even a process that
// ignores SIGTSTP; on_continue() looks at what is left of the lease.
void guard::stop_with_command() {
  if (!terminal_.present() && !told_to_stop_) return;
  told_to_stop_ = false;
  group_.signal(SIGSTOP);
  terminal_.take_back();
  ::kill(terminal_.present() ? 0 : ::getpid(), SIGSTOP);
}

void guard::on_continue() {
  if (state_ == state::ended) return;
  if (!in_time()) return kill_group();
  terminal_.look_again();
  terminal_.give_to(group_.id());
  group_.signal(SIGCONT);
}

}  // namespace herdlock::cli
