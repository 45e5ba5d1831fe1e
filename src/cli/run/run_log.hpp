// What `herdlock run` says about its lease, on standard error.
#pragma once

#include <string>

#include "common/event_log.hpp"

namespace herdlock::cli {

/// A run is a campaign for one term.
class run_log : public event_log {
 public:
  run_log(std::string name, std::string store, event_form form)
      : event_log(std::move(name), std::string(owner_token::generate().label()), std::move(store),
                  form) {}

  void asks();
  /// It asks again, for a while: there is trouble with the store.
  void tries_on(failure const& why);
  void holds(fencing_token token);
  /// It will not: busy, interrupted, or trouble with the store.
  void gives_up(failure const& why);
  /// `text` is for people.
  void lost(std::string const& text, std::string const& why);
  /// The command has ended; what follows is the release, or nothing when the lease was lost.
  void ended(int status);
  /// `how`: what became of it without trouble.
  void released(failure const& trouble, std::string const& how);
  /// Another has done the work: `text` says who.
  void done_already(std::string const& text);

  bool lost_it() const { return lost_; }

 private:
  void tell(election_event event, election_state to, std::string_view action, failure why = {});

  fencing_token token_{};
  bool lost_ = false;
  bool tries_on_ = false;
  std::optional<int> status_;
};

}  // namespace herdlock::cli
