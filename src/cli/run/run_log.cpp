#include "run/run_log.hpp"

#include <fmt/format.h>

#include <utility>

namespace herdlock::cli {

void run_log::tell(election_event event, election_state to, std::string_view action, failure why) {
  election_transition what{
      .from = last().to, .event = event, .to = to, .action = action, .term = token_};
  what.why = std::move(why);
  event_log::tell(what, status_);
}

void run_log::asks() {
  say(fmt::format("asks {} for the lease", store_name()));
  tell(election_event::campaign, election_state::acquiring, "acquire");
}

// Once: how it ends is told, too.
void run_log::tries_on(failure const& why) {
  if (!std::exchange(tries_on_, true)) warn("tries on: " + why.message);
}

void run_log::holds(fencing_token token) {
  token_ = token;
  say(fmt::format("holds it, fencing token {}", token.value));
  tell(election_event::granted, election_state::working, "start_work");
}

void run_log::gives_up(failure const& why) {
  tell(election_event::failed, election_state::idle, "finish", why);
}

void run_log::lost(std::string const& text, std::string const& why) {
  lost_ = true;
  line(text);
  tell(election_event::lost, election_state::pausing, "stop_work", make_failure(errc::lost, why));
}

void run_log::ended(int status) {
  status_ = status;
  say(lost_ ? fmt::format("the command has ended after the loss, herdlock's status is {}", status)
            : fmt::format("the command has ended, status {}", status));
  if (last().to == election_state::pausing) {
    tell(election_event::stopped, election_state::idle, "finish");
  } else {
    tell(election_event::finished, election_state::releasing, "release");
  }
}

void run_log::done_already(std::string const& text) {
  say(text);
  gives_up(make_failure(errc::unavailable, text));
}

void run_log::released(failure const& trouble, std::string const& how) {
  say(trouble.code ? "not " + how : how);
  tell(election_event::released, election_state::idle, "finish", trouble);
}

}  // namespace herdlock::cli
