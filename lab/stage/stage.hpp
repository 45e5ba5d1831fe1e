// What a scene is played on: its processes, their clock, its progress and what it reports.
#pragma once

#include "stage/cast.hpp"
#include "stage/clock.hpp"
#include "stage/report.hpp"
#include "terminal/duration.hpp"
#include "terminal/progress_line.hpp"

namespace herdlock::lab {

/// In the scene's own process, which starts no thread before its processes are started.
class stage {
 public:
  /// Nothing of a scene takes longer, unless it says so.
  static constexpr milliseconds patience{90'000};

  explicit stage(report into) : out_(std::move(into)) { note_interruptions(); }

  report& out() { return out_; }
  judge& judged() { return judged_; }
  cast& processes() { return processes_; }
  /// What runs beside the processes while the scene waits: a relay's bytes, a line for each event.
  void meanwhile(std::function<void()> work) { meanwhile_ = std::move(work); }

  /// From now on processes may end their work.
  void let_end() { may_end_ = cast::may_end::yes; }

  /// Returns when `holds` does. Throws command_error: unavailable, saying `what`, when it does not
  /// in time; what a process has complained of; 128 + the signal when the user interrupts.
  template <class Condition>
  void await(std::string_view what, Condition holds, milliseconds longest = patience) {
    if (waited_for(holds, longest)) return;
    throw command_error(exit_code::unavailable,
                        fmt::format("{} within {}", what, cli::say(longest)));
  }
  /// The same where it is no fault when it does not come to that: false.
  template <class Condition>
  bool waited_for(Condition holds, milliseconds longest) {
    return wait_until(longest, std::move(holds), [this] { go_on(); });
  }
  void pass(milliseconds time) {
    waited_for([] { return false; }, time);
  }
  /// Until all processes have ended their work.
  void await_end(milliseconds longest = patience) {
    let_end();
    await(
        "a process did not end", [this] { return processes_.all_ended(); }, longest);
  }
  /// Ends those that are left, and begins with new ones.
  void clear() {
    processes_.clear();
    may_end_ = cast::may_end::no;
    meanwhile_ = nullptr;
  }

  /// On a terminal: what is done, and from a share that is known (0 to 1) the time that is left.
  /// May be called as often as you like: the same words are shown ten times a second at most.
  void tell(std::string_view what, double share_done = 0) {
    auto const now = steady_ns();
    if (what == told_ && now - told_ns_ < in_ns(milliseconds(100))) return;
    told_ = what;
    told_ns_ = now;
    std::string text(what);
    if (share_done > 0 && share_done < 1) {
      auto const so_far_ms = in_ms(now - began_ns_);
      auto const left = milliseconds(static_cast<std::int64_t>(so_far_ms / share_done - so_far_ms));
      text += fmt::format("; {} left", cli::say(left));
    }
    progress_.show(text + " …");
  }
  void tell_nothing() { progress_.show({}); }

  /// Something could not be tried: the exit status is 69, unless a promise was broken.
  void left_out() { otherwise_ = exit_code::unavailable; }

  /// The scene's end: the exit status.
  int end() {
    tell_nothing();
    int const status = out_.end(judged_);
    return status != 0 ? status : static_cast<int>(otherwise_);
  }

 private:
  void go_on() {
    throw_if_interrupted();
    processes_.look(may_end_);
    if (meanwhile_) meanwhile_();
    nap();
  }

  report out_;
  judge judged_;
  cast processes_;
  std::function<void()> meanwhile_;
  cast::may_end may_end_ = cast::may_end::no;
  exit_code otherwise_ = exit_code::success;
  cli::progress_line progress_;
  std::string told_;
  std::int64_t told_ns_ = 0;
  std::int64_t began_ns_ = steady_ns();
};

}  // namespace herdlock::lab
