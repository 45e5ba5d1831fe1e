#include "run/run_log.hpp"

#include <fmt/format.h>

#include "terminal/duration.hpp"
#include "terminal/notice.hpp"

namespace herdlock::cli {

run_log::run_log(std::string name, std::string store, event_form form)
    : events_(std::move(name), std::string(owner_token::generate().label()), std::move(store)),
      form_(form) {}

void run_log::tell(election_event event, election_state to, std::string_view action, failure why) {
  auto const from = std::exchange(state_, to);
  if (form_ != event_form::json) return;
  election_transition what{
      .from = from, .event = event, .to = to, .action = action, .term = token_};
  what.why = std::move(why);
  events_.tell(what, status_);
}

void run_log::say(std::string const& what) const {
  if (form_ == event_form::verbose) {
    notice(fmt::format("{}: {}", in_quotes(events_.name()), what));
  }
}

void run_log::asks() {
  say(fmt::format("asks {} for the lease", events_.store()));
  tell(election_event::campaign, election_state::acquiring, "acquire");
}

// Once: how it ends is told, too.
void run_log::tries_on(failure const& why) {
  if (!std::exchange(tries_on_, true)) warns(fmt::format("tries on: {}", why.message));
}

void run_log::holds(fencing_token token) {
  token_ = token;
  say(fmt::format("holds it, fencing token {}", token.value));
  tell(election_event::granted, election_state::working, "start_work");
}

void run_log::notes(store const& where) const {
  for (auto const& one : where.notes()) say(one);
}

void run_log::gives_up(failure const& why) {
  tell(election_event::failed, election_state::idle, "finish", why);
}

void run_log::lost(std::string const& line, std::string const& why) {
  lost_ = true;
  if (form_ != event_form::json) notice(line);
  tell(election_event::lost, election_state::pausing, "stop_work", make_failure(errc::lost, why));
}

void run_log::warns(std::string const& text) const {
  if (form_ != event_form::json)
    return notice(fmt::format("{}: {}", in_quotes(events_.name()), text));
  election_transition now{};
  now.to = state_;
  now.term = token_;
  events_.warn(text, now);
}

void run_log::ended(int status) {
  status_ = status;
  say(lost_ ? fmt::format("the command has ended after the loss, herdlock's status is {}", status)
            : fmt::format("the command has ended, status {}", status));
  if (state_ == election_state::pausing) {
    tell(election_event::stopped, election_state::idle, "finish");
  } else {
    tell(election_event::finished, election_state::releasing, "release");
  }
}

void run_log::keeps(milliseconds more) const {
  say(fmt::format("keeps the lease for {} more", cli::say(more)));
}

void run_log::done_already(std::string const& line) {
  say(line);
  tell(election_event::failed, election_state::idle, "finish",
       make_failure(errc::unavailable, line));
}

void run_log::released(failure const& trouble, std::string const& how) {
  say(trouble.code ? "not " + how : how);
  tell(election_event::released, election_state::idle, "finish", trouble);
}

}  // namespace herdlock::cli
