#include "cache/engine/flight_callers.hpp"

#include "cache/engine/callers.hpp"
#include "cache/engine/load_services.hpp"

namespace herdlock::runtime {
namespace {

algo::first_caller kind_of(detail::caller_ptr const* first) {
  if (!first) return algo::first_caller::none;
  return (*first)->brings_loader() ? algo::first_caller::has_loader : algo::first_caller::has_none;
}

algo::loader_end end_of(detail::load_outcome const& outcome) {
  if (outcome.unfinished) return algo::loader_end::unfinished;
  if (!outcome.begun) return algo::loader_end::not_begun;
  return outcome.error ? algo::loader_end::error : algo::loader_end::value;
}

}  // namespace

std::size_t flight_callers::waiting(callers_of_flight& home) const { return home.waiting(id_); }

bool flight_callers::choose(callers_of_flight& home) {
  auto const before = std::exchange(chosen_, nullptr);
  bool const is_caches = machine_.next(algo::first_caller::none) == algo::loader_of::cache;
  if (!is_caches) {
    auto const* const able =
        home.first_of(id_, [&](detail::caller_ptr const& one) { return one->may_claim(later_); });
    if (able) chosen_ = *able;
  }
  // The caller does not lead any more: its call waits for its other keys alone.
  if (before && before != chosen_) before->load_decided();
  return is_caches || chosen_;
}

bool flight_callers::choose(detail::caller_ptr const& caller) {
  if (!caller->may_claim(later_)) return false;
  chosen_ = caller;
  return true;
}

void flight_callers::queued() {
  if (chosen_) chosen_->load_queued();
}

void flight_callers::decided() {
  if (auto const caller = std::exchange(chosen_, nullptr)) caller->load_decided();
}

// A caller who can load now; else the first, whose loader runs behind what it is at.
detail::caller_ptr const* flight_callers::first_who_loads(callers_of_flight& home) const {
  auto const able = [](detail::caller_ptr const& one) { return one->may_claim([] {}); };
  if (auto const* const now = home.first_of(id_, able)) return now;
  return home.first_of(id_, [](auto const&) { return true; });
}

bool flight_callers::begin(callers_of_flight& home, load_subject const& of,
                           deliver_type const& deliver) {
  auto const& services = home.services();
  for (;;) {
    // The leader of a call for many is the first who could claim; he may have left since.
    bool const is_there = chosen_ && chosen_->in_flight && chosen_->flight == id_.value;
    bool const is_caches = machine_.next(algo::first_caller::none) == algo::loader_of::cache;
    detail::caller_ptr const* first = is_there ? &chosen_ : nullptr;
    if (!is_there && !is_caches) first = first_who_loads(home);
    stop_ = std::stop_source();
    ++run_;
    auto const whose = machine_.next(kind_of(first));
    auto const caller = whose == algo::loader_of::call ? *first : nullptr;
    auto sink = detail::load_sink([deliver, caller, run = run_](detail::load_outcome outcome) {
      deliver(run, caller, std::move(outcome));
    });
    load_context context(of.key, of.fencing, stop_.get_token(), of.given);
    switch (whose) {
      case algo::loader_of::nobody:
        ++run_;  // the sink's word is nothing
        return false;
      case algo::loader_of::cache:
        decided();
        machine_.begun(algo::loader_of::cache);
        services.owned->start(std::move(context), std::move(sink), services.where);
        return true;
      case algo::loader_of::call:
        break;
    }
    chosen_ = nullptr;
    home.take_out(*caller);
    loading_ = caller;
    caller->loads = true;
    machine_.begun(algo::loader_of::call);
    bool begins = true;
    try {
      begins = caller->start_load(std::move(context), std::move(sink));
    } catch (...) {
      // Out of memory before it began: its sink went with it and has said so.
    }
    if (begins) return true;
    ++run_;
    loading_ = nullptr;
    caller->loads = false;
    machine_.begun(algo::loader_of::nobody);
    home.callers().finish(*caller, services.home->store->closed_failure());  // nobody takes it
  }
}

void flight_callers::obey(callers_of_flight& home, algo::callers_plan plan) {
  if (plan.ask_to_stop) stop_.request_stop();
  if (plan.others_look_again) home.look_again(id_);
}

algo::load_end flight_callers::ended(callers_of_flight& home, detail::load_outcome const& outcome) {
  auto const verdict = machine_.ended(end_of(outcome), waiting(home));
  auto const caller = std::exchange(loading_, nullptr);
  if (!caller) return verdict.load;
  // A caller who shares the answer gets it, whatever ends his call meanwhile.
  caller->loads = verdict.call == algo::own_answer::shared;
  auto const why = [&]() -> result<detail::cache_answer> {
    if (caller->end) return *std::move(caller->end);
    return make_failure(errc::load_failed, outcome.error.value_or(std::string()) +
                                               " (the loader was asked to stop, or could not end)");
  };
  switch (verdict.call) {
    case algo::own_answer::shared:
      sharer_ = caller;
      break;
    case algo::own_answer::looks_again:
      // The value that the caller had is no answer any more.
      home.services().keys->copies().forget(*caller);
      home.look_again(caller);
      break;
    case algo::own_answer::what_it_has_or_looks_again: {
      auto best = home.services().keys->copies().best_of(*caller, why());
      if (best.has_value()) {
        home.callers().finish(*caller, std::move(best));
      } else {
        home.look_again(caller);
      }
      break;
    }
    case algo::own_answer::what_it_has:
    case algo::own_answer::error:
      home.callers().finish_with_best(*caller, why());
      break;
    case algo::own_answer::none:
      break;
  }
  return verdict.load;
}

void flight_callers::end_call(detail::caller_ptr const& caller, detail::load_outcome&& outcome) {
  if (std::exchange(caller->answered, true)) return;
  caller->drop_loader();
  bool const has_value = end_of(outcome) == algo::loader_end::value;
  if (has_value) return caller->complete(std::move(outcome.answer));
  if (caller->end) return caller->complete(*std::move(caller->end));
  caller->complete(make_failure(
      errc::canceled, "the cache was closed while " + caller->key.str() + " was loading"));
}

}  // namespace herdlock::runtime
