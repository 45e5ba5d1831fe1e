// A flight while its loader runs: the beginning of the loader, and its outcome.
#include "cache/engine/engine.hpp"
#include "cache/engine/flight.hpp"
#include "cache/engine/load_results.hpp"
#include "cache/engine/tagged_load.hpp"

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

void load_flight::run_loader(cache_engine& home) {
  load_began_ = clock::now();
  auto begin = [self = shared_from_this()](result<std::optional<std::string>> extensions) {
    auto const engine = self->home_.lock();
    if (!engine || !self->machine_.loading()) return;  // closed meanwhile
    if (extensions.has_error()) {
      return self->on_loaded(self->callers_.run(), not_begun(extensions.error()));
    }
    self->said_.extensions = *std::move(extensions);
    self->begin_loader(*engine);
  };
  prepare_load(home, *this, slot_kind_, begin);
}

void load_flight::begin_loader(cache_engine& home) {
  load_began_ = clock::now();
  auto deliver = [weak = weak_from_this(), back = home.home_of_loads().back](
                     std::uint64_t run, detail::caller_ptr const& caller,
                     detail::load_outcome outcome) {
    told_outcome told{weak, run, caller, std::move(outcome)};
    if (back->post(told)) return;
    // Nothing of the cache is left but the call. Destroyed with its loader, it has no answer.
    if (caller && !told.outcome.unfinished) {
      flight_callers::end_call(caller, std::move(told.outcome));
    }
  };
  cache_key const own(without_prefix(key_, home.options()));
  if (!callers_.begin(home, fencing_, own, deliver)) {
    return apply(machine_.loader_done(algo::load_result::nothing, clock::now()));
  }
  cache_counters::add(home.counters.loads);
  bool const unguarded = slot_kind_ == algo::load_guard::unguarded;
  if (unguarded) cache_counters::add(home.counters.unguarded_loads);
}

void load_flight::on_loaded(std::uint64_t run, detail::load_outcome outcome) {
  if (run != callers_.run()) return;
  auto const home = home_.lock();
  if (!home || !machine_.loading()) return callers_.end_loading(std::move(outcome));
  auto const how = callers_.ended(*home, outcome);
  auto const now = clock::now();
  if (how == algo::load_end::next) return apply(machine_.loader_done(algo::load_result::next, now));
  if (how == algo::load_end::nothing) {
    return apply(machine_.loader_done(algo::load_result::nothing, now));
  }
  said_.outcome = std::move(outcome);
  said_.bytes = bytes_of(said_.outcome);
  auto const what = judge_loaded(*home);
  apply(machine_.loader_done(what, clock::now()));
}

// The result of the load, for the store and for what is kept of it here.
algo::load_result load_flight::judge_loaded(cache_engine& home) {
  auto const took = clock::now() - load_began_;
  home.counters.load_time.note(took);
  if (home.freshness() && !said_.outcome.error) home.freshness()->load_succeeded(key_, took);
  bool const unguarded = slot_kind_ == algo::load_guard::unguarded;
  auto what = result_of(home, said_.outcome, said_.extensions.value_or(std::string()));
  if (what == algo::load_result::storable && !said_.extensions) {
    what = algo::load_result::unstorable;
  }
  bool const guarded = !unguarded && !machine_.claim_is_lost();
  auto& answers = home.unstored();
  // An entry that is refreshed is there, and would be removed.
  bool const is_sent = purpose_.refresh_below != milliseconds{0} || answers.may_be_taken(key_);
  if (what == algo::load_result::storable && guarded && !is_sent) {
    if (!outdated_) answers.add_refused(key_, {said_.outcome.answer, said_.bytes}, load_began_);
    return algo::load_result::unstorable;
  }
  bool const has_value = said_.outcome.answer.kind == detail::entry_kind::value;
  bool const stored = what == algo::load_result::storable && guarded;
  if (stored && home.lasting()) {
    said_.admission =
        home.lasting()->admit_loaded(key_, *said_.outcome.encoded, purpose_.refresh_below);
    if (said_.admission.why.code) {
      what = algo::load_result::unstorable;
      home.trouble().tell(said_.admission.why);
    }
  }
  bool const stays = has_value && stored && what == algo::load_result::storable;
  if (stays && home.lasting()) home.lasting()->schedule_refresh(key_);
  if (said_.outcome.error) cache_counters::add(home.counters.load_errors);
  bool const unstorable = has_value && what == algo::load_result::unstorable;
  if (unstorable) cache_counters::add(home.counters.unstorable);
  if (unstorable && !outdated_) {
    answers.add_unstorable(key_, {said_.outcome.answer, said_.bytes}, load_began_);
  }
  if (machine_.claim_is_lost()) cache_counters::add(home.counters.superseded);
  if (unguarded && !outdated_ && !said_.outcome.unfinished) {
    auto const kind =
        said_.outcome.error ? algo::load_answer::load_error : algo::load_answer::loaded;
    auto const add =
        said_.refused_alone ? &unstored_answers::add_refused : &unstored_answers::add_unguarded;
    (answers.*add)(key_, {said_.answer(kind, key_), said_.bytes}, load_began_);
  }
  return what;
}

}  // namespace herdlock::runtime
