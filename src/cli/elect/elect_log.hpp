// What `herdlock elect` says about each transition, on standard error: standard output is the
// command's.
#pragma once

#include <herdlock/election.hpp>
#include <string>

#include "elect/elect_options.hpp"

namespace herdlock::cli {

/// Called on the store's executor; never waits for whoever reads.
class elect_log {
 public:
  elect_log(std::string name, std::string candidate, elect_log_form form);
  void tell(election_transition const& what);

 private:
  void tell_json(election_transition const& what) const;
  void tell_people(election_transition const& what);

  std::string const name_;
  std::string const candidate_;
  elect_log_form const form_;
  clock::time_point const began_ = clock::now();
  bool in_trouble_ = false;
};

}  // namespace herdlock::cli
