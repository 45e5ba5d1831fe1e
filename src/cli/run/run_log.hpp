// What `herdlock run` says about its lease, on standard error.
#pragma once

#include <string>

#include "common/event_log.hpp"

namespace herdlock::cli {

/// A run is a campaign for one term.
class run_log {
 public:
  /// `store`: as it may be shown.
  run_log(std::string name, std::string store, event_form form);

  void asks();
  /// It asks again, for a while: there is trouble with the store.
  void tries_on(failure const& why);
  void holds(fencing_token token);
  /// Where the lease lives.
  void notes(store const& where) const;
  /// It will not: busy, interrupted, or trouble with the store.
  void gives_up(failure const& why);
  /// `line` is for people, and told in every form but JSON.
  void lost(std::string const& line, std::string const& why);
  /// Something is wrong with the command.
  void warns(std::string const& text) const;
  /// The command has ended; what follows is the release, or nothing when the lease was lost.
  void ended(int status);
  /// The lease is kept for so long, though the command has ended.
  void keeps(milliseconds more) const;
  /// `how`: what became of it without trouble.
  void released(failure const& trouble, std::string const& how = "given back");
  /// Another has done the work: `line` says who.
  void done_already(std::string const& line);

  bool lost_it() const { return lost_; }

 private:
  void tell(election_event event, election_state to, std::string_view action, failure why = {});
  void say(std::string const& what) const;

  event_log const events_;
  event_form const form_;
  election_state state_ = election_state::idle;
  fencing_token token_{};
  bool lost_ = false;
  bool tries_on_ = false;
  std::optional<int> status_;
};

}  // namespace herdlock::cli
