#include "cache/engine/callers.hpp"

#include "cache/engine/engine.hpp"

namespace herdlock::runtime {

cache_callers::cache_callers(cache_engine& home)
    : home_(home), deliveries_(std::make_shared<deliveries>(home.home().executor())) {}

cache_callers::~cache_callers() {
  timer_queue::remove(*this);
  waiting_.clear();
}

bool cache_callers::add(detail::cache_caller& caller, clock::time_point now) {
  auto const wait = home_.options().wait;
  caller.deadline = wait > limits::max_ttl ? clock::time_point::max() : now + wait;
  bool const full = waiting_.size() >= home_.options().bounds.max_waiting;
  waiting_.push_back(caller);
  if (!is_linked() && caller.deadline != clock::time_point::max()) {
    home_.home().timers().schedule(*this, caller.deadline);
  }
  return !full;
}

void cache_callers::finish(detail::cache_caller& caller, result<detail::cache_answer> answer) {
  if (std::exchange(caller.answered, true)) return;
  if (home_.freshness()) home_.freshness()->forget(caller);
  auto const keep = caller.shared_from_this();
  if (caller.is_linked()) waiting_.erase(waiting_.iterator_to(caller));
  caller.in_flight = false;
  caller.drop_loader();
  deliveries_->add(keep, std::move(answer));
}

void cache_callers::take_out_of_flight(detail::cache_caller& caller) {
  if (!std::exchange(caller.in_flight, false)) return;
  home_.flights().leave({{caller.flight}, caller.slot, caller.visit});
}

void cache_callers::leave_flight(detail::cache_caller& caller) {
  if (!std::exchange(caller.in_flight, false)) return;
  algo::flight_ticket const ticket{{caller.flight}, caller.slot, caller.visit};
  auto const left = home_.flights().leave(ticket);
  if (!left.joiner || left.remaining > 0) return;
  if (auto* const flight = home_.flights().state(ticket.flight)) {
    auto const keep = *flight;
    keep->everyone_left();
  }
}

void cache_callers::end(detail::cache_caller& caller, result<detail::cache_answer> end) {
  if (caller.answered || caller.end) return;
  if (!caller.loads) {
    leave_flight(caller);
    return finish(caller, std::move(end));
  }
  // The loader of the call still runs: the call is answered when that has ended.
  caller.end = std::make_unique<result<detail::cache_answer>>(std::move(end));
  if (caller.is_linked()) waiting_.erase(waiting_.iterator_to(caller));
  if (auto* const flight = home_.flights().state({caller.flight})) {
    auto const keep = *flight;
    keep->caller_ended();
  }
}

void cache_callers::cancel(detail::cache_caller& caller) {
  if (caller.answered || caller.end) return;
  cache_counters::add(home_.counters.canceled);
  end(caller, make_failure(errc::canceled, "the call for " + caller.key.str() + " was cancelled"));
}

void cache_callers::on_due(clock::time_point now) {
  auto const& store = home_.home();
  while (!waiting_.empty() && waiting_.front().deadline <= now) {
    auto const late = waiting_.front().shared_from_this();
    result<detail::cache_answer> why =
        make_failure(errc::timed_out,
                     "no value for " + late->key.str() + " from " + store.display_name() +
                         " or its loader within " + std::to_string(home_.options().wait.count()) +
                         " ms (a loader that asks for its own key waits for itself)");
    // The value that a caller has at hand is judged when his loader, if it runs, has ended.
    if (home_.freshness() && !late->loads) why = home_.freshness()->best_of(*late, why);
    bool const counts = late->wish != detail::caller_wish::refresh;
    if (why.has_error() && counts) cache_counters::add(home_.counters.timed_out);
    if (late->loads && !home_.owned()) warn_of_slow_loads();
    end(*late, std::move(why));
  }
  if (!waiting_.empty()) home_.home().timers().schedule(*this, waiting_.front().deadline);
}

void cache_callers::warn_of_slow_loads() {
  if (std::exchange(warned_, true)) return;
  home_.counters.warnings.add(
      cache_in_words(home_.home().display_name(), home_.options().prefix) +
      " has loads that take longer than `wait` (" + std::to_string(home_.options().wait.count()) +
      " ms), and their calls wait for them: give the cache a loader of its own, "
      "cache(store, options, loader), which goes on when a call has ended");
}

void cache_callers::end_all() {
  while (!waiting_.empty()) {
    cache_counters::add(home_.counters.canceled);
    auto& last = waiting_.front();
    result<detail::cache_answer> why = home_.home().closed_failure();
    if (home_.freshness() && last.loads) why = home_.freshness()->best_of(last, why);
    end(last, std::move(why));
  }
  timer_queue::remove(*this);
}

}  // namespace herdlock::runtime
