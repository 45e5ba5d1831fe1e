// What happens to a candidate or a holder, as lines of JSON on standard error: `elect` and `run`
// tell the same events in the same shape.
#pragma once

#include <herdlock/election.hpp>
#include <optional>
#include <string>

namespace herdlock::cli {

/// How much of it is told.
enum class event_form { quiet, verbose, json };

/// Never waits for whoever reads.
class event_log {
 public:
  event_log(std::string name, std::string candidate)
      : name_(std::move(name)), candidate_(std::move(candidate)) {}

  /// `status`: of the command, where it has ended.
  void tell(election_transition const& what, std::optional<int> status = {}) const;

  std::string const& name() const { return name_; }
  std::string const& candidate() const { return candidate_; }

 private:
  std::string const name_;
  std::string const candidate_;
  clock::time_point const began_ = clock::now();
};

}  // namespace herdlock::cli
