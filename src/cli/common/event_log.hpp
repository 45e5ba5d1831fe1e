// What happens to a candidate or a holder, on standard error: `elect` and `run` tell the same
// events, to people or as lines of JSON in the same shape.
#pragma once

#include <herdlock/election.hpp>
#include <nlohmann/json_fwd.hpp>

namespace herdlock::cli {

/// How much of it is told.
enum class event_form { quiet, verbose, json };

/// Whose events they are, and how much of them is told.
struct event_source {
  std::string name;
  std::string candidate;
  std::string store;  ///< as it may be shown
  event_form form;
};

/// Never waits for whoever reads.
class event_log {
 public:
  explicit event_log(event_source of) : of_(std::move(of)) {}

  /// Tells programs. `status` is herdlock's, once the command has ended.
  void tell(election_transition const& what, std::optional<int> status = {});
  /// For people, in every form but JSON.
  void line(std::string const& text) const;
  /// For people who want to know all.
  void say(std::string const& text) const;
  /// Something is wrong with the command; the campaign stays as it is.
  void warn(std::string const& text) const;
  /// Where the lease lives.
  void notes(store const& where) const;

 protected:
  event_source const of_;
  election_transition last_{};

 private:
  void write(std::string_view event, election_transition const& what,
             nlohmann::ordered_json const& more) const;

  clock::time_point const began_ = clock::now();
};

}  // namespace herdlock::cli
