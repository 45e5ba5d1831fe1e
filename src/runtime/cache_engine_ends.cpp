// How callers of a cache leave: answered, cancelled, at a deadline, or with the cache.
#include "runtime/cache_engine.hpp"

namespace herdlock::runtime {

void cache_engine::finish(detail::cache_caller& caller, result<detail::cache_answer> answer) {
  if (std::exchange(caller.answered, true)) return;
  if (freshness_) freshness_->forget(caller);
  auto const keep = caller.shared_from_this();
  if (caller.is_linked()) callers_.erase(callers_.iterator_to(caller));
  caller.seated = false;
  if (!caller.leads) caller.drop_loader();
  answers_->add(keep, std::move(answer));
}

void cache_engine::leave_flight(detail::cache_caller& caller) {
  if (!std::exchange(caller.seated, false)) return;
  algo::flight_ticket const ticket{{caller.flight}, caller.slot, caller.visit};
  auto const left = flights_.leave(ticket);
  if (!left.joiner || left.remaining > 0) return;
  if (auto* const flight = flights_.state(ticket.flight)) {
    auto const keep = *flight;
    keep->everyone_left();
  }
}

void cache_engine::cancel(detail::cache_caller& caller) {
  if (caller.answered) return;
  cache_counters::add(counters.canceled);
  leave_flight(caller);
  finish(caller, make_failure(errc::canceled, "the call for " + caller.key.str() +
                                                  " was cancelled; a load that runs goes on"));
}

void cache_engine::soft_timeout(detail::cache_caller& caller, detail::cache_answer stale) {
  cache_counters::add(counters.soft_timeouts);
  leave_flight(caller);
  finish(caller, std::move(stale));
}

void cache_engine::expire(clock::time_point now) {
  while (!callers_.empty() && callers_.front().deadline <= now) {
    auto const late = callers_.front().shared_from_this();
    leave_flight(*late);
    result<detail::cache_answer> end =
        make_failure(errc::timed_out, "no value for " + late->key.str() + " from " +
                                          values_->display_name() + " or its loader within " +
                                          std::to_string(settings_.options.wait.count()) +
                                          " ms; a load that runs goes on");
    if (freshness_) end = freshness_->best_of(*late, end);
    bool const counts = late->wish != detail::caller_wish::refresh;
    if (end.has_error() && counts) cache_counters::add(counters.timed_out);
    finish(*late, std::move(end));
  }
  if (!callers_.empty()) values_->timers().schedule(deadlines_, callers_.front().deadline);
}

void cache_engine::on_closing() {
  if (std::exchange(closed_, true)) return;
  back_->shut();
  if (lasting_) lasting_->close();
  if (local_.hot) local_.hot->close();
  if (local_.near) local_.near->close();
  for (auto const id : flights_.running()) {
    auto* const state = flights_.state(id);
    if (!state) continue;
    auto const flight = *state;
    flight->close();
  }
  while (!callers_.empty()) {
    cache_counters::add(counters.canceled);
    finish(callers_.front(), values_->closed_failure());
  }
  timer_queue::remove(deadlines_);
}

}  // namespace herdlock::runtime
