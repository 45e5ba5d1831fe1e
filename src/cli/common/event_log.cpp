#include "common/event_log.hpp"

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

void event_log::tell(election_transition const& what, std::optional<int> status) const {
  auto line = line_of(to_string(what.event), what);
  if (what.event == election_event::campaign) line["store"] = store_;
  if (what.back_off.count() != 0) line["back_off_ms"] = what.back_off.count();
  if (status) line["status"] = *status;
  if (what.why.code) line["why"] = what.why.message;
  write(line);
}

void event_log::warn(std::string const& text, election_transition now) const {
  now.from = now.to;
  now.action = "none";
  auto line = line_of("warning", now);
  line["why"] = text;
  write(line);
}

}  // namespace herdlock::cli
