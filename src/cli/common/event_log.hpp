// What happens to a candidate or a holder, on standard error: `elect` and `run` tell the same
// events, to people or as lines of JSON in the same shape.
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
  /// `store`: as it may be shown.
  event_log(std::string name, std::string candidate, std::string store, event_form form)
      : name_(std::move(name)),
        candidate_(std::move(candidate)),
        store_(std::move(store)),
        form_(form) {}

  /// For programs. `status`: of herdlock, where the command has ended.
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
  election_transition const& last() const { return last_; }
  std::string const& candidate() const { return candidate_; }
  std::string const& store_name() const { return store_; }
  event_form form() const { return form_; }

 private:
  nlohmann::ordered_json line_of(std::string_view event, election_transition const& what) const;

  std::string const name_;
  std::string const candidate_;
  std::string const store_;
  event_form const form_;
  election_transition last_{};
  clock::time_point const began_ = clock::now();
};

}  // namespace herdlock::cli
