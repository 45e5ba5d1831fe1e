// What happens to a candidate or a holder, as lines of JSON on standard error: `elect` and `run`
// tell the same events in the same shape.
#pragma once

#include <herdlock/election.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace herdlock::cli {

/// How much of it is told.
enum class event_form { quiet, verbose, json };

/// Never waits for whoever reads.
class event_log {
 public:
  event_log(std::string name, std::string candidate, std::string store)
      : name_(std::move(name)), candidate_(std::move(candidate)), store_(std::move(store)) {}

  /// `status`: of herdlock, where the command has ended.
  void tell(election_transition const& what, std::optional<int> status = {}) const;

  /// Something is wrong with the command; the campaign stays as `now` left it.
  void warn(std::string const& text, election_transition now) const;

  std::string const& name() const { return name_; }
  std::string const& candidate() const { return candidate_; }
  std::string const& store() const { return store_; }

 private:
  nlohmann::ordered_json line_of(std::string_view event, election_transition const& what) const;

  std::string const name_;
  std::string const candidate_;
  std::string const store_;  // as it may be shown
  clock::time_point const began_ = clock::now();
};

}  // namespace herdlock::cli
