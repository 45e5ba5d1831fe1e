#include "cache/engine/callers.hpp"

namespace herdlock::runtime {
namespace {

milliseconds wait_of(detail::cache_caller const& caller, cache_home const& home) {
  return caller.how.wait.value_or(home.options.wait);
}

}  // namespace

cache_callers::cache_callers(home_ptr home, std::shared_ptr<cache_keys> keys,
                             detail::loader_from whose)
    : home_(std::move(home)),
      keys_(std::move(keys)),
      deliveries_(std::make_shared<deliveries>(home_->store->executor())),
      whose_(whose) {}

cache_callers::~cache_callers() { drop_all(); }

void cache_callers::drop_all() {
  timer_queue::remove(*this);
  waiting_.clear();
  apart_.clear();
}

bool cache_callers::add(detail::cache_caller& caller, clock::time_point now) {
  auto const wait = wait_of(caller, *home_);
  caller.deadline = wait > limits::max_ttl ? clock::time_point::max() : now + wait;
  bool const full = waiting_.size() + apart_.size() >= home_->options.bounds.max_waiting;
  if (caller.how.wait) {
    apart_.emplace(caller.deadline, &caller);
  } else {
    waiting_.push_back(caller);
  }
  if (!is_linked() || next_due() == &caller) schedule();
  return !full;
}

detail::cache_caller* cache_callers::next_due() {
  auto* const first = waiting_.empty() ? nullptr : &waiting_.front();
  auto* const apart = apart_.empty() ? nullptr : apart_.begin()->second;
  if (!first || !apart) return first ? first : apart;
  return apart->deadline < first->deadline ? apart : first;
}

void cache_callers::schedule() {
  auto const* const next = next_due();
  if (!next || next->deadline == clock::time_point::max()) return;
  home_->store->timers().schedule(*this, next->deadline);
}

void cache_callers::stop_waiting(detail::cache_caller& caller) {
  if (caller.is_linked()) {
    waiting_.erase(waiting_.iterator_to(caller));
  } else if (!apart_.empty()) {
    apart_.erase({caller.deadline, &caller});
  }
}

void cache_callers::finish(detail::cache_caller& caller, result<detail::cache_answer> answer) {
  if (std::exchange(caller.answered, true)) return;
  keys_->copies().forget(caller);
  auto const keep = caller.shared_from_this();
  stop_waiting(caller);
  caller.in_flight = false;
  caller.drop_loader();
  deliveries_->add(keep, std::move(answer));
}

result<detail::cache_answer> cache_callers::best_of(detail::cache_caller& caller,
                                                    result<detail::cache_answer> answer) {
  return closed_ ? std::move(answer) : keys_->copies().best_of(caller, std::move(answer));
}

void cache_callers::finish_with_best(detail::cache_caller& caller,
                                     result<detail::cache_answer> answer) {
  finish(caller, best_of(caller, std::move(answer)));
}

void cache_callers::leave_flight(detail::cache_caller& caller) {
  if (std::exchange(caller.in_flight, false)) flights_.left(caller);
}

void cache_callers::end(detail::cache_caller& caller, result<detail::cache_answer> end) {
  if (caller.answered || caller.end) return;
  if (!caller.loads) {
    leave_flight(caller);
    return finish(caller, std::move(end));
  }
  // The loader of the call still runs: the call is answered when that has ended.
  caller.end = std::make_unique<result<detail::cache_answer>>(std::move(end));
  stop_waiting(caller);
  flights_.ended_while_loading(caller);
}

void cache_callers::cancel(detail::cache_caller& caller) {
  if (caller.answered || caller.end) return;
  cache_counters::add(home_->counters.canceled);
  end(caller, make_failure(errc::canceled, "the call for " + caller.key.str() + " was cancelled"));
}

void cache_callers::on_due(clock::time_point now) {
  while (auto* const next = next_due()) {
    if (next->deadline > now) break;
    auto const late = next->shared_from_this();
    result<detail::cache_answer> why =
        make_failure(errc::timed_out,
                     "no value for " + late->key.str() + " from " + home_->store->display_name() +
                         " or its loader within " + std::to_string(wait_of(*late, *home_).count()) +
                         " ms (a loader that asks for its own key waits for itself)");
    // The value that a caller has at hand is judged when his loader, if it runs, has ended.
    if (!late->loads) why = keys_->copies().best_of(*late, std::move(why));
    bool const counts = late->wish != detail::caller_wish::refresh;
    if (why.has_error() && counts) cache_counters::add(home_->counters.timed_out);
    bool const is_slow = late->loads && whose_ == detail::loader_from::call && !late->how.wait;
    if (is_slow) warn_of_slow_loads();
    end(*late, std::move(why));
  }
  schedule();
}

void cache_callers::warn_of_slow_loads() {
  if (std::exchange(warned_, true)) return;
  home_->counters.warnings.add(
      home_->in_words() + " has loads that take longer than `wait` (" +
      std::to_string(home_->options.wait.count()) +
      " ms), and their calls wait for them: give the cache a loader of its own, "
      "cache(store, options, loader), which goes on when a call has ended");
}

void cache_callers::end_all() {
  while (auto* const next = next_due()) {
    cache_counters::add(home_->counters.canceled);
    auto& last = *next;
    result<detail::cache_answer> why = home_->store->closed_failure();
    if (last.loads) why = keys_->copies().best_of(last, std::move(why));
    end(last, std::move(why));
  }
  timer_queue::remove(*this);
}

}  // namespace herdlock::runtime
