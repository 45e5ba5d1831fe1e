// The words of an election: what a candidate can be in, and what happens to it. The table that
// joins them is printed by election_diagram().
#pragma once

#include <string>
#include <string_view>

namespace herdlock {
inline namespace v0 {

/// The state of a candidate. Renewing is no state of its own: the lease under a term renews itself,
/// and says when it is lost.
enum class election_state {
  idle,         ///< does not stand
  acquiring,    ///< queued for the term, or asking for it
  working,      ///< leads: the work runs
  pausing,      ///< the term is lost or the work has ended: the work is being stopped
  waiting,      ///< rests before it stands again; what is left of its term is given back
  withdrawing,  ///< has resigned: the question for the term is being taken back
  cleanup,      ///< has resigned: the work is being stopped
  releasing,    ///< gives the term back
};

enum class election_event {
  campaign,  ///< the caller wants to lead
  granted,   ///< the term is ours
  failed,    ///< the store could not answer, or the grant came too late
  refused,   ///< the store will not answer differently: wrong password, closed, …
  lost,      ///< the term cannot be proved any more; `stop_grace` is left of it
  finished,  ///< start_work has returned by itself
  stopped,   ///< start_work and stop_work have returned: nothing works any more
  overdue,   ///< the term is over, and the work has not stopped
  rested,    ///< the rest is over
  resign,    ///< the caller does not want to lead any more
  released,  ///< the term is given back, or ends by its ttl
};

std::string_view to_string(election_state state) noexcept;
std::string_view to_string(election_event event) noexcept;

enum class diagram_format { mermaid, graphviz };

/// The table that runs, as a picture.
std::string election_diagram(diagram_format format);

}  // namespace v0
}  // namespace herdlock
