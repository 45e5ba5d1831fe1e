#include "common/event_log.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/json_text.hpp"
#include "terminal/notice.hpp"

namespace herdlock::cli {
namespace {

// A name may hold any byte.
void write(nlohmann::ordered_json const& line) {
  detail::write_at_once(json_text(line, json_form::line) + "\n");
}

}  // namespace

nlohmann::ordered_json event_log::line_of(std::string_view event,
                                          election_transition const& what) const {
  return {
      {"event", event},
      {"from", to_string(what.from)},
      {"to", to_string(what.to)},
      {"action", what.action},
      {"resource", name_},
      {"holder", candidate_},
      {"fencing", what.term.value},
      // By their old names, for one release.
      {"candidate", candidate_},
      {"term", what.term.value},
      {"elapsed_ms", std::chrono::duration_cast<milliseconds>(clock::now() - began_).count()},
  };
}

void event_log::tell(election_transition const& what, std::optional<int> status) {
  last_ = what;
  if (form_ != event_form::json) return;
  auto told = line_of(to_string(what.event), what);
  if (what.event == election_event::campaign) told["store"] = store_;
  if (what.back_off.count() != 0) told["back_off_ms"] = what.back_off.count();
  if (status) told["status"] = *status;
  if (what.why.code) told["why"] = what.why.message;
  write(told);
}

void event_log::line(std::string const& text) const {
  if (form_ != event_form::json) notice(fmt::format("{}: {}", in_quotes(name_), text));
}

void event_log::say(std::string const& text) const {
  if (form_ == event_form::verbose) line(text);
}

void event_log::warn(std::string const& text) const {
  if (form_ != event_form::json) return line(text);
  auto now = last_;
  now.from = now.to;
  now.action = "none";
  auto told = line_of("warning", now);
  told["why"] = text;
  write(told);
}

void event_log::notes(store const& where) const {
  for (auto const& one : where.notes()) say(one);
}

}  // namespace herdlock::cli
