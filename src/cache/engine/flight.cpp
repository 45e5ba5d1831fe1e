#include "cache/engine/flight.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include "cache/engine/claim_clean_up.hpp"
#include "cache/engine/engine.hpp"
#include "cache/engine/load_results.hpp"
#include "cache/engine/tagged_load.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

void end_probe(cache_engine& home, load_purpose& purpose) {
  if (std::exchange(purpose.probes_claims, false)) home.trouble().claim_probe_over();
}

}  // namespace

result<detail::cache_answer> load_words::answer(algo::load_answer what,
                                                cache_key const& key) const {
  switch (what) {
    case algo::load_answer::found:
      return found;
    case algo::load_answer::loaded:
      return outcome.answer;
    case algo::load_answer::shared_error:
      return make_failure(errc::load_failed, shared_error);
    case algo::load_answer::load_error:
      return make_failure(errc::load_failed, outcome.error.value_or(std::string()));
    case algo::load_answer::refused:
      return refusal;
    case algo::load_answer::closed:
      break;
  }
  return make_failure(errc::canceled, "the cache was closed while " + key.str() + " was loading");
}

load_flight::load_flight(std::shared_ptr<cache_engine> const& home, algo::flight_id id,
                         cache_key key, load_purpose const& purpose)
    : home_(home),
      id_(id),
      key_(std::move(key)),
      owner_(owner_token::generate()),
      purpose_(purpose),
      machine_(load_settings_of(*home, purpose)),
      callers_(id,
               {.has_owned = home->owned() != nullptr, .behind_answer = purpose.behind_answer()}) {}

load_flight::~load_flight() {
  timer_queue::remove(*this);
  auto const home = home_.lock();
  if (!home) return;
  home->unlist(*this);
  end_probe(*home, purpose_);
  if (home->freshness()) home->freshness()->tags().load_ended(*this);
}

// A call's run is over that could not claim meanwhile.
void load_flight::start(algo::load_guard guard) {
  callers_.when_able([weak = weak_from_this()] {
    auto const self = weak.lock();
    auto const engine = self ? self->home_.lock() : nullptr;
    bool const waits = engine && std::exchange(self->waits_for_turn_, false);
    if (waits) self->take_slot(*engine, algo::load_call::take_slot);
  });
  apply(machine_.start(guard));
}

bool load_flight::slot_granted() {
  bool const queued = std::exchange(queued_at_, std::nullopt).has_value();
  auto const home = home_.lock();
  // A call that could claim when it queued may have begun to load other keys.
  if (queued && home && !machine_.done() && !callers_.choose(*home)) {
    waits_for_turn_ = true;
    return false;
  }
  apply(machine_.slot_granted(clock::now()));
  return true;
}

// ------------------------------------------------------------------------------- the callers

void load_flight::joined(detail::caller_ptr const& caller) {
  machine_.joined();
  auto const home = home_.lock();
  if (!home || !waits_for_turn_ || !callers_.choose(caller)) return;
  waits_for_turn_ = false;
  queue_for_slot(*home, algo::load_call::take_slot);
}

void load_flight::everyone_left() {
  auto const keep = shared_from_this();
  auto const home = home_.lock();
  apply(machine_.everyone_left());
  if (home) callers_.others_left(*home);
}

void load_flight::caller_ended() {
  if (auto const home = home_.lock()) callers_.caller_ended(*home);
}

bool load_flight::voided() {
  bool const was_lost = machine_.claim_is_lost();
  outdated_ = true;
  apply(machine_.voided(), algo::stop_reason::voided);
  return !was_lost && machine_.claim_is_lost();
}

void load_flight::close() {
  if (auto const home = home_.lock()) callers_.stop(*home, algo::stop_reason::closing);
  apply(machine_.close(), algo::stop_reason::closing);
}

// ---------------------------------------------------------------- what the machine said

void load_flight::apply(algo::load_plan const& plan, algo::stop_reason why) {
  auto const keep = shared_from_this();
  auto const home = home_.lock();
  if (!home) return;
  if (machine_.done()) {
    if (auto const at = std::exchange(queued_at_, std::nullopt))
      home->slots().of(slot_kind_).leave(*at);
    if (std::exchange(watching_, false)) stop_watch_.emit(asio::cancellation_type::terminal);
    waits_for_turn_ = false;
  }
  if (plan.detach) home->flights().detach(id_);
  if (plan.signal_lost) {
    outdated_ = true;
    callers_.stop(*home, why);
  }
  if (plan.clean_up) home->give_up_claim(key_, owner_);
  if (plan.answer) home->answer(id_, said_.answer(*plan.answer, key_), callers_.take_sharer());
  // The slot is freed before the call, which may be for a slot of the other kind.
  if (plan.free_slot) home->slots().free(slot_kind_);
  begin(*home, plan.call);
  if (machine_.done()) {
    home->unlist(*this);
    end_probe(*home, purpose_);
  }
  // A loader that hangs has lost its claim, and is not waited for.
  if (purpose_.is_refresh() && (machine_.done() || plan.signal_lost)) {
    bool const refused = load_began_ == clock::time_point();
    if (refused) cache_counters::add(home->counters.refused_refreshes);
    home->freshness()->refresh_ended(key_, std::exchange(purpose_.refresh, 0));
  }
  if (machine_.done()) home->forget(id_);
  if (machine_.due() == clock::time_point::max()) {
    timer_queue::remove(*this);
  } else {
    home->home().timers().schedule(*this, machine_.due());
  }
}

void load_flight::begin(cache_engine& home, algo::load_call call) {
  cache_store* const claims = home.claims();
  if (call == algo::load_call::none) return;
  if (call == algo::load_call::take_slot || call == algo::load_call::take_free_slot)
    return take_slot(home, call);
  if (call == algo::load_call::run_loader) return run_loader(home);
  if (!claims) return;  // closing: the machine is closed next, or is closed already
  switch (call) {
    case algo::load_call::claim:
      return claim(home, *claims);
    case algo::load_call::clear:
      // However this ends, the claim's own step finds out what is there now.
      return remove_entry(home.local().near, *claims, key_, [self = shared_from_this()] {
        self->apply(self->machine_.clear_replied());
      });
    case algo::load_call::watch:
      return watch(home, *claims);
    case algo::load_call::extend:
      return extend(home, *claims);
    case algo::load_call::fill:
      return fill(home, *claims);
    case algo::load_call::share_error:
      return end_claim(home, *claims, error_to_tell(home, key_, *said_.outcome.error));
    case algo::load_call::give_up:
      return end_claim(home, *claims, {});
    default:
      return;
  }
}

// ------------------------------------------------------------------------- taking the claim

void load_flight::take_slot(cache_engine& home, algo::load_call how) {
  slot_kind_ = machine_.guard();
  if (callers_.choose(home)) return queue_for_slot(home, how);
  if (how == algo::load_call::take_free_slot) return everyone_left();
  waits_for_turn_ = true;
}

void load_flight::queue_for_slot(cache_engine& home, algo::load_call how) {
  auto& slots = home.slots().of(slot_kind_);
  if (slots.try_take()) {
    slot_granted();
    return;
  }
  callers_.queued();
  if (how == algo::load_call::take_free_slot) return everyone_left();
  queued_at_ = slots.wait(shared_from_this());
}

void load_flight::claim(cache_engine& home, cache_store& claims) {
  claim_request request{key_, owner_, home.options().claim_ttl, home.form(),
                        purpose_.refresh_below};
  auto on_judged = [self = shared_from_this()](result<claim_reply> reply, auto by_tags) {
    self->said_.by_tags = by_tags;
    self->on_claim(std::move(reply));
  };
  auto on_reply = [self = shared_from_this(), on_judged](result<claim_reply> reply) {
    claim_of_load const mine{self->key_, self->owner_, self->purpose_.by_tags};
    if (auto const engine = self->home_.lock()) {
      judge_claim(*engine, mine, std::move(reply), on_judged);
    }
  };
  claims.claim(std::move(request), std::move(on_reply));
}

void load_flight::on_claim(result<claim_reply> reply) {
  auto const home = home_.lock();
  if (!home) return;
  bool const probed = purpose_.probes_claims;
  end_probe(*home, purpose_);
  bool const ours = reply.has_value() && std::holds_alternative<claimed>(*reply);
  if (!ours) callers_.decided();
  if (reply.has_error()) {
    if (!is_store_trouble(reply.error())) {
      said_.refusal = reply.error();
      return apply(machine_.refused());
    }
    auto const scope = home->trouble().failed(algo::store_step::claim, reply.error());
    said_.refused_alone = scope == algo::trouble_scope::key;
    if (reply.error() == errc::moving) home->unstored().moves(key_);
    // The claim was refused to this key alone: so others' claims are judged.
    bool const answers = said_.refused_alone && reply.error() != errc::overloaded;
    if (probed && answers) home->trouble().claims_worked();
    return apply(machine_.claim_failed());
  }
  home->trouble().claims_worked();
  if (ours) {
    fencing_ = std::get<claimed>(*reply).fencing;
    return apply(machine_.claim_granted(clock::now()));
  }
  if (auto* const hit = std::get_if<cache_hit>(&*reply)) {
    auto entry = home->read(std::move(hit->value));
    // The key is another program's: the value that is loaded now answers for this key alone.
    said_.refused_alone = !entry;
    if (!entry) return apply(machine_.claim_unreadable());
    // Stale already, by a grace that is longer than ours, or by its tags: it is claimed as what it
    // is.
    if (entry->age && clock::now() >= entry->age->times.expires) {
      entry->age->by_tags = said_.by_tags;
      purpose_.by_tags = said_.by_tags != algo::tag_verdict::fresh;
      auto const below = cache_freshness::refresh_below(*entry->age);
      if (std::exchange(purpose_.refresh_below, below) < below) {
        return apply(machine_.claim_busy(milliseconds{1}, clock::now(), random_unit()));
      }
      // The entry has no end of its own: no claim beside it is granted.
      if (purpose_.by_tags) return apply(machine_.claim_unreadable());
    }
    // Another has refreshed it.
    if (home->plain_times()) home->plain_times()->forget(key_);
    said_.found = std::move(entry->answer);
    return apply(machine_.claim_hit());
  }
  if (auto* const other = std::get_if<claim_busy>(&*reply)) {
    return apply(machine_.claim_busy(other->remaining, clock::now(), random_unit()));
  }
  said_.shared_error = error_told(*home, key_, std::get<load_backing_off>(std::move(*reply)));
  apply(machine_.claim_backing_off());
}

void load_flight::watch(cache_engine& home, cache_store& claims) {
  watching_ = true;
  watch_request request{key_, machine_.watch_wait(), home.form()};
  auto on_reply = [self = shared_from_this()](result<watch_reply> reply) {
    self->watching_ = false;
    auto const on_judged = [self](result<watch_reply> said) { self->on_watch(std::move(said)); };
    if (auto const engine = self->home_.lock()) judge_push(*engine, std::move(reply), on_judged);
  };
  claims.watch(std::move(request),
               asio::bind_cancellation_slot(stop_watch_.slot(), std::move(on_reply)));
}

void load_flight::on_watch(result<watch_reply> reply) {
  auto const home = home_.lock();
  if (!home || machine_.done()) return;
  if (reply.has_error()) {
    if (!is_store_trouble(reply.error())) {
      said_.refusal = reply.error();
      return apply(machine_.refused());
    }
    auto const scope = home->trouble().failed(algo::store_step::wait, reply.error());
    said_.refused_alone = scope == algo::trouble_scope::key;
    // Pushes need rights of their own (channels): the claims go on without them.
    if (reply.error() == errc::access_denied) {
      return apply(machine_.watch_denied(clock::now(), random_unit()));
    }
    return apply(machine_.watch_failed());
  }
  if (auto* const hit = std::get_if<cache_hit>(&*reply)) {
    auto entry = home->read(std::move(hit->value));
    bool const stale = entry && entry->age && clock::now() >= entry->age->times.expires;
    if (!entry || stale) return apply(machine_.watch_look_again(clock::now(), random_unit()));
    said_.found = std::move(entry->answer);
    return apply(machine_.watch_hit());
  }
  if (auto* const failed = std::get_if<load_backing_off>(&*reply)) {
    said_.shared_error = error_told(*home, key_, std::move(*failed));
    return apply(machine_.watch_error());
  }
  apply(machine_.watch_look_again(clock::now(), random_unit()));
}

}  // namespace herdlock::runtime
