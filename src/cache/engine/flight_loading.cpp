// A flight while its loader runs: the beginning of the loader, and its outcome.
#include "cache/engine/flight.hpp"

namespace herdlock::runtime {

// The outcome of a loader, on its way to the flight, which may have gone by then.
struct load_flight::told_outcome {
  std::weak_ptr<load_flight> flight;
  std::uint64_t run;
  detail::caller_ptr caller;
  detail::load_outcome outcome;

  void operator()() {
    if (auto const self = flight.lock()) return self->on_loaded(run, std::move(outcome));
    if (caller) flight_callers::end_call(caller, std::move(outcome));
  }
};

void load_flight::run_loader(flight_board& home) {
  auto& loads = home.services().keys->loads;
  said_.end.began = clock::now();
  purpose_.has_begun = true;
  auto names = loads.tags_of(key_);
  if (names.has_error()) {
    // It is this program's error alone, and no word on the key.
    detail::load_outcome not_begun;
    not_begun.error = names.error().message;
    not_begun.unfinished = true;
    return on_loaded(callers_.run(), std::move(not_begun));
  }
  tags_ = *std::move(names);
  if (!tags_.empty()) home.list_tagged(*this);
  loads.prepare(tags_, said_.end.guard, [self = shared_from_this()](load_extensions found) {
    auto const board = self->home_.lock();
    if (!board || !self->machine_.loading()) return;  // closed meanwhile
    self->said_.end.extensions = std::move(found);
    self->begin_loader(*board);
  });
}

void load_flight::begin_loader(flight_board& home) {
  auto const& common = *home.services().home;
  said_.end.began = clock::now();
  auto deliver = [weak = weak_from_this(), back = home.services().where.back](
                     std::uint64_t run, detail::caller_ptr const& caller,
                     detail::load_outcome outcome) {
    told_outcome told{weak, run, caller, std::move(outcome)};
    if (back->post(told)) return;
    // Nothing of the cache is left but the call. Destroyed with its loader, it has no answer.
    if (caller && !told.outcome.unfinished) {
      flight_callers::end_call(caller, std::move(told.outcome));
    }
  };
  load_subject const of{cache_key(common.own(key_)), said_.fencing, purpose_.replaced};
  if (!callers_.begin(home, of, deliver)) {
    return apply(algo::loader_done{algo::load_result::nothing});
  }
  auto& counters = home.services().home->counters;
  cache_counters::add(counters.loads);
  bool const unguarded = said_.end.guard == algo::load_guard::unguarded;
  if (unguarded) cache_counters::add(counters.unguarded_loads);
}

void load_flight::on_loaded(std::uint64_t run, detail::load_outcome outcome) {
  if (run != callers_.run()) return;
  auto const home = home_.lock();
  if (!home || !machine_.loading()) return callers_.end_loading(std::move(outcome));
  auto const how = callers_.ended(*home, outcome);
  if (how == algo::load_end::next) return apply(algo::loader_done{algo::load_result::next});
  if (how == algo::load_end::nothing) return apply(algo::loader_done{algo::load_result::nothing});
  said_.end.outcome = std::move(outcome);
  said_.end.has_claim = !machine_.claim_is_lost();
  auto verdict = home->services().keys->loads.loaded(key_, said_.end);
  said_.admission = std::move(verdict.admission);
  apply(algo::loader_done{verdict.result});
}

}  // namespace herdlock::runtime
