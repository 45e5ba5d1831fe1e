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
  auto& tagging = home.services().keys->tagging;
  said_.end.began = clock::now();
  purpose_.has_begun = true;
  auto tags = tagging.of_load(key_, purpose_);
  if (tags.has_error()) {
    // It is this program's error alone, and no word on the key.
    detail::load_outcome not_begun;
    not_begun.error = tags.error().message;
    not_begun.unfinished = true;
    return on_loaded(callers_.run(), std::move(not_begun));
  }
  tags_ = *std::move(tags);
  if (!tags_.all.empty()) home.list_tagged(*this);
  tagging.prepare(tags_, said_.end.guard, [self = shared_from_this()](load_extensions found) {
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
  load_subject const of{cache_key(common.own(key_)), said_.fencing,
                        home.services().keys->tagging.given(purpose_)};
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
  auto names = take_named(outcome, purpose_);
  if (!names.empty()) {
    auto const self = shared_from_this();
    bool const guarded = said_.end.guard == algo::load_guard::guarded && !machine_.claim_is_lost();
    named_tags what{std::move(names), said_.end.began, said_.end.extensions,
                    guarded && outcome.decided.is_stored};
    auto then = [self, run, outcome = std::move(outcome)](result<load_extensions> said) mutable {
      if (said.has_error()) {
        outcome = {.answer = {}, .error = std::move(said).error().message};
      } else {
        self->said_.end.extensions = *std::move(said);
      }
      self->on_loaded(run, std::move(outcome));
    };
    auto& tagging = home->services().keys->tagging;
    return tagging.add(
        std::move(what), [self] { self->voided(); }, std::move(then));
  }
  auto const how = callers_.ended(*home, outcome);
  if (how == algo::load_end::next) return apply(algo::loader_done{algo::load_result::next});
  if (how == algo::load_end::nothing) return apply(algo::loader_done{algo::load_result::nothing});
  said_.end.outcome = std::move(outcome);
  said_.end.has_claim = !machine_.claim_is_lost();
  said_.end.is_refresh = purpose_.is_refresh();
  auto verdict = home->services().keys->loads.loaded(key_, said_.end);
  said_.admission = std::move(verdict.admission);
  apply(algo::loader_done{verdict.result});
}

}  // namespace herdlock::runtime
