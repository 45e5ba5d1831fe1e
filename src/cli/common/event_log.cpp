#include "common/event_log.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/json_text.hpp"
#include "terminal/notice.hpp"

namespace herdlock::cli {

void event_log::write(std::string_view event, election_transition const& what,
                      nlohmann::ordered_json const& more) const {
  nlohmann::ordered_json line{
      {"event", event},
      {"from", to_string(what.from)},
      {"to", to_string(what.to)},
      {"action", what.action},
      {"resource", of_.name},
      {"holder", of_.candidate},
      {"fencing", what.term.value},
      // By their old names, for one release.
      {"candidate", of_.candidate},
      {"term", what.term.value},
      {"elapsed_ms", std::chrono::duration_cast<milliseconds>(clock::now() - began_).count()},
  };
  line.update(more);
  // A name may hold any byte.
  detail::write_at_once(json_text(line, json_form::line) + "\n");
}

void event_log::tell(election_transition const& what, std::optional<int> status) {
  last_ = what;
  if (of_.form != event_form::json) return;
  auto more = nlohmann::ordered_json::object();
  if (what.event == election_event::campaign) more["store"] = of_.store;
  if (what.back_off.count() != 0) more["back_off_ms"] = what.back_off.count();
  if (status) more["status"] = *status;
  if (what.why.code) more["why"] = what.why.message;
  write(to_string(what.event), what, more);
}

void event_log::line(std::string const& text) const {
  if (of_.form != event_form::json) notice(fmt::format("{}: {}", in_quotes(of_.name), text));
}

void event_log::say(std::string const& text) const {
  if (of_.form == event_form::verbose) line(text);
}

void event_log::warn(std::string const& text) const {
  if (of_.form != event_form::json) return line(text);
  auto now = last_;
  now.from = now.to;
  now.action = "none";
  write("warning", now, {{"why", text}});
}

void event_log::notes(store const& where) const {
  for (auto const& one : where.notes()) say(one);
}

}  // namespace herdlock::cli
