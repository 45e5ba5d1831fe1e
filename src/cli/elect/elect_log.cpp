#include "elect/elect_log.hpp"

#include <fmt/format.h>

#include "terminal/duration.hpp"
#include "terminal/notice.hpp"

namespace herdlock::cli {
namespace {

std::string in_words(election_transition const& what) {
  std::string const term = fmt::format("term {}", what.term.value);
  switch (what.event) {
    case election_event::campaign:
      return "stands";
    case election_event::rested:
      return "stands again";
    case election_event::granted:
      return what.to == election_state::working ? "leads, " + term : term + " came too late";
    case election_event::failed:
      return what.to == election_state::waiting
                 ? fmt::format("trouble with the store, trying on: {}", what.why.message)
                 : "has withdrawn";
    case election_event::refused:
      return "refused: " + what.why.message;
    case election_event::lost:
      return fmt::format("{} is lost, stopping: {}", term, what.why.message);
    case election_event::finished:
      return "the command has ended by itself, " + term;
    case election_event::stopped:
      return what.to == election_state::waiting
                 ? fmt::format("stopped, rests for {}", say(what.back_off))
                 : "stopped, giving the term back";
    case election_event::overdue:
      return term + " is over, and the command has not stopped";
    case election_event::resign:
      return "resigns";
    case election_event::released:
      return what.why.code ? "gone; the term ends by its ttl: " + what.why.message : "gone";
  }
  return {};
}

}  // namespace

elect_log::elect_log(event_log events, event_form form) : events_(std::move(events)), form_(form) {}

void elect_log::tell(election_transition const& what) {
  last_ = what;
  if (form_ == event_form::json) return events_.tell(what);
  tell_people(what);
}

void elect_log::notes(store const& where) const {
  if (form_ != event_form::verbose) return;
  for (auto const& one : where.notes()) {
    notice(fmt::format("{}: {}", in_quotes(events_.name()), one));
  }
}

void elect_log::warns(std::string const& text) const {
  if (form_ == event_form::json) return events_.warn(text, last_);
  notice(fmt::format("{}: {}", in_quotes(events_.name()), text));
}

// Without --verbose: what goes wrong, and that it is right again. The loss and the refusal are told
// elsewhere.
void elect_log::tell_people(election_transition const& what) {
  bool const trouble = what.event == election_event::failed && what.to == election_state::waiting;
  bool const worth_it = (trouble && !in_trouble_) || what.event == election_event::overdue ||
                        (what.event == election_event::granted && in_trouble_) ||
                        (what.event == election_event::released && what.why.code);
  if (trouble) in_trouble_ = true;
  if (what.event == election_event::granted) in_trouble_ = false;
  if (form_ == event_form::quiet && !worth_it) return;
  std::string const where =
      what.event == election_event::campaign ? " at " + events_.store() : std::string();
  notice(fmt::format("{}: {}: {}{}", in_quotes(events_.name()), events_.candidate(), in_words(what),
                     where));
}

}  // namespace herdlock::cli
