// What `herdlock run` says about its lease, on standard error.
#pragma once

#include <fmt/format.h>

#include "common/event_log.hpp"

namespace herdlock::cli {

/// A run is a campaign for one term.
class run_log : public event_log {
 public:
  using event_log::event_log;

  void asks() {
    say(fmt::format("asks {} for the lease", of_.store));
    tell(election_event::campaign, election_state::acquiring, "acquire");
  }
  /// It asks again, for a while: there is trouble with the store. Told once: how it ends is, too.
  void tries_on(failure const& why) {
    if (!std::exchange(tries_on_, true)) warn("tries on: " + why.message);
  }
  void holds(fencing_token token) {
    token_ = token;
    say(fmt::format("holds it, fencing token {}", token.value));
    tell(election_event::granted, election_state::working, "start_work");
  }
  /// It will not: busy, done already, interrupted, or trouble with the store.
  void gives_up(errc code, std::string const& why) {
    tell(election_event::failed, election_state::idle, "finish", make_failure(code, why));
  }
  /// `text` is for people.
  void lost(std::string const& text, std::string const& why) {
    lost_ = true;
    line(text);
    tell(election_event::lost, election_state::pausing, "stop_work", make_failure(errc::lost, why));
  }
  /// The command has ended; what follows is the release, or nothing when the lease was lost.
  void ended(int status) {
    status_ = status;
    say(lost_ ? fmt::format("the command has ended after the loss, herdlock's status is {}", status)
              : fmt::format("the command has ended, status {}", status));
    if (last_.to == election_state::pausing) {
      tell(election_event::stopped, election_state::idle, "finish");
    } else {
      tell(election_event::finished, election_state::releasing, "release");
    }
  }
  /// `how`: what became of it without trouble.
  void released(failure const& trouble, std::string const& how) {
    say(trouble.code ? "not " + how : how);
    tell(election_event::released, election_state::idle, "finish", trouble);
  }

  bool lost_it() const { return lost_; }

 private:
  void tell(election_event event, election_state to, std::string_view action, failure why = {}) {
    event_log::tell({last_.to, event, to, action, token_, std::move(why)}, status_);
  }

  fencing_token token_{};
  bool lost_ = false;
  bool tries_on_ = false;
  std::optional<int> status_;
};

}  // namespace herdlock::cli
