#include "common/event_log.hpp"

#include <nlohmann/json.hpp>

#include "common/notice.hpp"

namespace herdlock::cli {

void event_log::tell(election_transition const& what, std::optional<int> status) const {
  nlohmann::ordered_json line{
      {"event", to_string(what.event)},
      {"from", to_string(what.from)},
      {"to", to_string(what.to)},
      {"action", to_string(what.action)},
      {"resource", name_},
      {"candidate", candidate_},
      {"term", what.term.value},
      {"elapsed_ms", std::chrono::duration_cast<milliseconds>(clock::now() - began_).count()},
  };
  if (what.back_off.count() != 0) line["back_off_ms"] = what.back_off.count();
  if (status) line["status"] = *status;
  if (what.why.code) line["why"] = what.why.message;
  // A name may hold any byte.
  detail::write_at_once(
      line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace herdlock::cli
