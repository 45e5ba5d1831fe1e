// How callers of a cache leave: answered, cancelled, at a deadline, or with the cache.
#include "runtime/cache_engine.hpp"

namespace herdlock::runtime {

void cache_engine::finish(detail::cache_caller& caller, result<detail::cache_answer> answer) {
  if (std::exchange(caller.answered, true)) return;
  if (freshness_) freshness_->forget(caller);
  auto const keep = caller.shared_from_this();
  if (caller.is_linked()) callers_.erase(callers_.iterator_to(caller));
  caller.seated = false;
  caller.drop_loader();
  answers_->add(keep, std::move(answer));
}

void cache_engine::unseat(detail::cache_caller& caller) {
  if (!std::exchange(caller.seated, false)) return;
  flights_.leave({{caller.flight}, caller.slot, caller.visit});
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

void cache_engine::end_call(detail::cache_caller& caller, result<detail::cache_answer> end) {
  if (caller.answered || caller.end) return;
  if (!caller.loads) {
    leave_flight(caller);
    return finish(caller, std::move(end));
  }
  // What it was given is in use.
  caller.end = std::make_unique<result<detail::cache_answer>>(std::move(end));
  if (caller.is_linked()) callers_.erase(callers_.iterator_to(caller));
  if (auto* const flight = flights_.state({caller.flight})) {
    auto const keep = *flight;
    keep->caller_ended();
  }
}

void cache_engine::cancel(detail::cache_caller& caller) {
  if (caller.answered || caller.end) return;
  cache_counters::add(counters.canceled);
  end_call(caller,
           make_failure(errc::canceled, "the call for " + caller.key.str() + " was cancelled"));
}

void cache_engine::expire(clock::time_point now) {
  while (!callers_.empty() && callers_.front().deadline <= now) {
    auto const late = callers_.front().shared_from_this();
    result<detail::cache_answer> end =
        make_failure(errc::timed_out,
                     "no value for " + late->key.str() + " from " + values_->display_name() +
                         " or its loader within " + std::to_string(settings_.options.wait.count()) +
                         " ms (a loader that asks for its own key waits for itself)");
    // What one whose loader runs has at hand is judged when that has ended.
    if (freshness_ && !late->loads) end = freshness_->best_of(*late, end);
    bool const counts = late->wish != detail::caller_wish::refresh;
    if (end.has_error() && counts) cache_counters::add(counters.timed_out);
    if (late->loads && !has_loader()) warn_of_slow_loads();
    end_call(*late, std::move(end));
  }
  if (!callers_.empty()) values_->timers().schedule(deadlines_, callers_.front().deadline);
}

void cache_engine::warn_of_slow_loads() {
  if (std::exchange(warned_of_slow_loads_, true)) return;
  counters.warnings.add(cache_in_words(values_->display_name(), *options().prefix) +
                        " has loads that take longer than `wait` (" +
                        std::to_string(options().wait.count()) +
                        " ms), and their calls wait for them: give the cache a loader of its own, "
                        "cache(store, options, loader), which goes on when a call has ended");
}

void cache_engine::on_closing() {
  if (std::exchange(closed_, true)) return;
  slots_.close();
  if (lasting_) lasting_->close();
  if (local_.hot) local_.hot->close();
  if (local_.rules) local_.rules->close();
  if (local_.near) local_.near->close();
  for (auto const id : flights_.running()) {
    auto* const state = flights_.state(id);
    if (!state) continue;
    auto const flight = *state;
    flight->close();
  }
  while (!callers_.empty()) {
    cache_counters::add(counters.canceled);
    auto& last = callers_.front();
    result<detail::cache_answer> end = values_->closed_failure();
    if (freshness_ && last.loads) end = freshness_->best_of(last, end);
    end_call(last, std::move(end));
  }
  timer_queue::remove(deadlines_);
  // What a loader comes to from now on goes to its call alone.
  back_->shut();
}

}  // namespace herdlock::runtime
