#include <herdlock/detail/single_flight_core.hpp>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algo/flight_table.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

// The flights that take new joiners.
class flights_by_key {
 public:
  std::uint64_t find(std::string_view key) const {
    auto const at = ids_.find(key);
    return at == ids_.end() ? 0 : at->second;
  }
  bool set(std::string_view key, std::uint64_t id) { return ids_.emplace(key, id).second; }
  void clear(std::string_view key) { ids_.erase(key); }

 private:
  std::unordered_map<std::string_view, std::uint64_t> ids_;
};

}  // namespace

struct single_flight_core::state {
  struct running {
    std::stop_source stop;
    std::shared_ptr<flight_joiner> ended;  // whose operation it is, when its call has ended
  };
  using table = algo::flight_table<std::shared_ptr<flight_joiner>, running, flights_by_key>;

  state(algo::flight_limits limits, abandoned_flight on_abandoned)
      : flights(limits), policy(on_abandoned) {}

  std::mutex mutex;
  table flights;
  abandoned_flight const policy;
};

namespace {

failure refusal(algo::join_outcome outcome, std::string_view key, algo::flight_limits const& is) {
  bool const flights = outcome == algo::join_outcome::too_many_flights;
  return make_failure(
      errc::overloaded,
      "single_flight: no room for key '" + std::string(key) + "': " +
          (flights ? std::to_string(is.max_flights) + " flights are running (max_flights)"
                   : std::to_string(is.max_joiners) + " callers are waiting (max_callers)"));
}

}  // namespace

single_flight_core::single_flight_core(single_flight_bounds bounds, abandoned_flight policy)
    : state_(
          std::make_unique<state>(algo::flight_limits{.max_flights = bounds.max_flights,
                                                      .max_joiners_per_flight = bounds.max_callers,
                                                      .max_joiners = bounds.max_callers},
                                  policy)) {}

single_flight_core::~single_flight_core() = default;

flight_entry single_flight_core::join(std::string_view key, std::shared_ptr<flight_joiner> joiner) {
  flight_joiner& mine = *joiner;
  std::lock_guard hold(state_->mutex);
  if (mine.stage_ == flight_joiner::stage::left) return {};
  auto& flights = state_->flights;
  auto const reply = flights.join(key, std::move(joiner));
  if (!reply.accepted()) {
    mine.stage_ = flight_joiner::stage::left;
    return {flight_entry::role::refused, 0, {}, refusal(reply.outcome, key, flights.bounds())};
  }
  mine.stage_ = flight_joiner::stage::in_flight;
  mine.flight_ = reply.ticket.flight.value;
  mine.slot_ = reply.ticket.slot;
  mine.visit_ = reply.ticket.visit;
  if (reply.outcome == algo::join_outcome::joined) {
    return {flight_entry::role::joined, mine.flight_, {}, {}};
  }
  mine.leads_ = true;
  return {flight_entry::role::leads,
          mine.flight_,
          flights.state(reply.ticket.flight)->stop.get_token(),
          {}};
}

bool single_flight_core::leave(flight_joiner& joiner, failure why) {
  std::optional<std::stop_source> stop;
  bool stays = false;
  {
    std::lock_guard hold(state_->mutex);
    auto const was = std::exchange(joiner.stage_, flight_joiner::stage::left);
    if (was == flight_joiner::stage::before) return true;
    if (was == flight_joiner::stage::left) return false;
    algo::flight_ticket const ticket{{joiner.flight_}, joiner.slot_, joiner.visit_};
    auto const reply = state_->flights.leave(ticket);
    if (!reply.joiner) return false;
    bool const is_stopped = state_->policy == abandoned_flight::is_stopped;
    auto& running = *state_->flights.state(ticket.flight);
    stays = joiner.leads_ && is_stopped;
    if (stays) {
      joiner.ended_ = std::move(why);
      running.ended = *reply.joiner;
    }
    bool const is_abandoned = reply.remaining == 0 && is_stopped;
    if (is_abandoned) {
      // A caller that comes now must not join a flight that is being stopped.
      state_->flights.detach(ticket.flight);
      stop = running.stop;
    }
  }
  // Runs the operation's stop callbacks: not under the mutex.
  if (stop) stop->request_stop();
  return !stays;
}

void single_flight_core::finish(std::uint64_t flight, erased_outcome outcome) {
  std::vector<std::shared_ptr<flight_joiner>> joiners;
  std::shared_ptr<flight_joiner> ended;
  {
    std::lock_guard hold(state_->mutex);
    if (auto* const running = state_->flights.state({flight})) ended = std::move(running->ended);
    joiners = state_->flights.finish({flight});
    auto const callers = joiners.size() + (ended ? 1 : 0);
    for (auto const& joiner : joiners) joiner->callers_ = callers;
    if (ended) ended->callers_ = callers;
  }
  if (ended) ended->settle_ended(outcome, ended->ended_);
  for (auto const& joiner : joiners) joiner->settle(outcome);
}

bool single_flight_core::forget(std::string_view key) {
  std::lock_guard hold(state_->mutex);
  return state_->flights.detach(key);
}

std::size_t single_flight_core::waiting(std::string_view key) const {
  std::lock_guard hold(state_->mutex);
  auto const flight = state_->flights.flying(key);
  return flight ? state_->flights.waiting(*flight) : 0;
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
