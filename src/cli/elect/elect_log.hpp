// What `herdlock elect` says about each transition, on standard error: standard output is the
// command's.
#pragma once

#include <herdlock/election.hpp>
#include <string>

#include "common/event_log.hpp"

namespace herdlock::cli {

/// Called on the store's executor; never waits for whoever reads.
class elect_log {
 public:
  elect_log(event_log events, event_form form);
  void tell(election_transition const& what);
  /// Says where the lease lives, under --verbose.
  void notes(store const& where) const;
  /// Something is wrong with the command.
  void warns(std::string const& text) const;

 private:
  void tell_people(election_transition const& what);

  event_log const events_;
  event_form const form_;
  election_transition last_{};
  bool in_trouble_ = false;
};

}  // namespace herdlock::cli
