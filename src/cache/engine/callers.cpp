#include "cache/engine/callers.hpp"

namespace herdlock::runtime {
namespace {

milliseconds wait_of(detail::cache_caller const& caller, cache_home const& home) {
  return caller.how.wait.value_or(home.options.wait);
}

}  // namespace

struct cache_callers::own_wait final : detail::held_by_caller, timed {
  own_wait(cache_callers& its_home, detail::cache_caller& its_caller)
      : home(its_home), caller(its_caller) {}
  ~own_wait() override { timer_queue::remove(*this); }
  void on_due(clock::time_point) override { home.end_late(caller); }

  cache_callers& home;
  detail::cache_caller& caller;
};

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
  for (auto& caller : apart_) caller.own_wait = nullptr;
  apart_.clear();
}

bool cache_callers::add(detail::cache_caller& caller, clock::time_point now) {
  auto const wait = wait_of(caller, *home_);
  bool const ends = wait <= limits::max_ttl;
  caller.deadline = ends ? now + wait : clock::time_point::max();
  bool const full = count_ >= home_->options.bounds.max_waiting;
  if (caller.how.wait) {
    if (ends) wait_apart(caller);
    apart_.push_back(caller);
  } else {
    waiting_.push_back(caller);
    if (ends && !is_linked()) home_->store->timers().schedule(*this, caller.deadline);
  }
  ++count_;
  return !full;
}

void cache_callers::wait_apart(detail::cache_caller& caller) {
  auto its = std::make_unique<own_wait>(*this, caller);
  home_->store->timers().schedule(*its, caller.deadline);
  caller.own_wait = std::move(its);
}

void cache_callers::finish(detail::cache_caller& caller, result<detail::cache_answer> answer) {
  if (std::exchange(caller.answered, true)) return;
  keys_->copies().forget(caller);
  auto const keep = caller.shared_from_this();
  unlink(caller);
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

void cache_callers::unlink(detail::cache_caller& caller) {
  if (!caller.is_linked()) return;
  caller.own_wait = nullptr;
  caller.unlink();
  --count_;
}

void cache_callers::end(detail::cache_caller& caller, result<detail::cache_answer> end) {
  if (caller.answered || caller.end) return;
  if (!caller.loads) {
    leave_flight(caller);
    return finish(caller, std::move(end));
  }
  // The loader of the call still runs: the call is answered when that has ended.
  caller.end = std::make_unique<result<detail::cache_answer>>(std::move(end));
  unlink(caller);
  flights_.ended_while_loading(caller);
}

void cache_callers::cancel(detail::cache_caller& caller) {
  if (caller.answered || caller.end) return;
  cache_counters::add(home_->counters.canceled);
  end(caller, make_failure(errc::canceled, "the call for " + caller.key.str() + " was cancelled"));
}

void cache_callers::on_due(clock::time_point now) {
  while (!waiting_.empty() && waiting_.front().deadline <= now) end_late(waiting_.front());
  if (!waiting_.empty()) home_->store->timers().schedule(*this, waiting_.front().deadline);
}

void cache_callers::end_late(detail::cache_caller& caller) {
  auto const late = caller.shared_from_this();
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

void cache_callers::warn_of_slow_loads() {
  if (std::exchange(warned_, true)) return;
  home_->counters.warnings.add(
      home_->in_words() + " has loads that take longer than `wait` (" +
      std::to_string(home_->options.wait.count()) +
      " ms), and their calls wait for them: give the cache a loader of its own, "
      "cache(store, options, loader), which goes on when a call has ended");
}

void cache_callers::end_all() {
  while (!waiting_.empty() || !apart_.empty()) {
    cache_counters::add(home_->counters.canceled);
    auto& last = waiting_.empty() ? apart_.front() : waiting_.front();
    result<detail::cache_answer> why = home_->store->closed_failure();
    if (last.loads) why = keys_->copies().best_of(last, std::move(why));
    end(last, std::move(why));
  }
  timer_queue::remove(*this);
}

}  // namespace herdlock::runtime
