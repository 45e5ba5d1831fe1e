#include "algo/load_callers.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::algo {

loader_of load_callers::next(first_caller first) const noexcept {
  if (!claim_held_) return loader_of::nobody;
  // Nothing that a call was given runs behind an answer.
  if (settings_.behind_answer && settings_.has_owned) return loader_of::cache;
  if (first == first_caller::has_loader) return loader_of::call;
  if (first == first_caller::has_none && settings_.has_owned) return loader_of::cache;
  return loader_of::nobody;
}

void load_callers::begun(loader_of whose) noexcept {
  running_ = whose;
  caller_ended_ = false;
  asked_ = false;
}

callers_plan load_callers::ask(callers_plan plan) noexcept {
  plan.ask_to_stop = running() && !asked_;
  if (running()) asked_ = true;
  return plan;
}

callers_plan load_callers::caller_ended(std::size_t others_waiting) noexcept {
  caller_ended_ = true;
  return others_waiting == 0 ? ask({}) : callers_plan{};
}

callers_plan load_callers::others_left() noexcept {
  bool const is_for_nobody = running_ == loader_of::call && caller_ended_;
  return is_for_nobody ? ask({}) : callers_plan{};
}

callers_plan load_callers::stop(stop_reason why) noexcept {
  if (why == stop_reason::closing) return ask({});
  claim_held_ = false;
  voided_ = voided_ || why == stop_reason::voided;
  return ask({.others_look_again = true});
}

// A value counts whoever has asked for the end. An error behind that request says nothing of the
// key: it may be the end that was asked for.
loader_verdict load_callers::ended(loader_end how, std::size_t others_waiting) noexcept {
  bool const is_calls = running_ == loader_of::call;
  bool const was_asked = std::exchange(asked_, false);
  running_ = loader_of::nobody;
  auto const shared = is_calls ? own_answer::shared : own_answer::none;
  if (how == loader_end::value) return {load_end::result, shared};
  // If the cache's own loader could not begin, all who wait are told: it is the same for all.
  bool const is_no_end = was_asked || (is_calls && how == loader_end::unfinished);
  if (!is_no_end) {
    auto const own = is_calls && caller_ended_ ? own_answer::what_it_has : shared;
    return {load_end::result, own};
  }
  bool const goes_on = claim_held_ && others_waiting > 0;
  auto const own = is_calls ? answer_without_end(how) : own_answer::none;
  return {goes_on ? load_end::next : load_end::nothing, own};
}

own_answer load_callers::answer_without_end(loader_end how) const noexcept {
  if (caller_ended_) return own_answer::what_it_has;
  if (voided_) return own_answer::looks_again;
  bool const may_load = how == loader_end::not_begun && !claim_held_;
  return may_load ? own_answer::what_it_has_or_looks_again : own_answer::error;
}

bool load_bundle::is_due() const noexcept { return !running() && undecided_ == 0 && wanted_ > 0; }

std::size_t load_bundle::turns() const noexcept {
  bool const is_idle = !running() && undecided_ == 0 && queued_ == 0 && wanted_ == 0;
  return is_idle ? largest_ : 0;
}

bool load_bundle::asked_to_stop() noexcept {
  ++stopped_;
  return is_useless();
}

bool load_bundle::is_useless() const noexcept { return running() && stopped_ == keys_; }

void load_bundle::begin() noexcept {
  keys_ = wanted_;
  largest_ = std::max(largest_, keys_);
  wanted_ = 0;
  stopped_ = 0;
}

}  // namespace herdlock::algo
