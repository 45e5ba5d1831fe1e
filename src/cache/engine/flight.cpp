#include "cache/engine/flight.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include <algorithm>

#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

using algo::claim_answer;
using algo::watch_answer;

void end_probe(load_services& home, load_purpose& purpose) {
  if (std::exchange(purpose.probes_claims, false)) home.home->trouble.claim_probe_over();
}

algo::load_settings settings_of(load_services const& home, load_purpose const& purpose) {
  auto const& options = home.home->options;
  bool const pushed = home.claims.pushes_fills();
  return {.claim_ttl = options.claim_ttl,
          .max_load_time = options.max_load_time,
          .waiting = pushed ? algo::load_waiting::watch : algo::load_waiting::back_off,
          // Without one of these nobody could load behind the answer.
          .behind_answer = purpose.behind_answer() && (home.owned || purpose.caller_waits),
          .caller_waits = purpose.caller_waits};
}

}  // namespace

result<detail::cache_answer> load_words::answer(algo::load_answer what,
                                                cache_key const& key) const {
  switch (what) {
    case algo::load_answer::found:
      return found;
    case algo::load_answer::loaded:
    case algo::load_answer::load_error:
      return answer_of(end.outcome);
    case algo::load_answer::shared_error:
      return make_failure(errc::load_failed, shared_error);
    case algo::load_answer::refused:
      return refusal;
    case algo::load_answer::closed:
      break;
  }
  return make_failure(errc::canceled, "the cache was closed while " + key.str() + " was loading");
}

load_flight::load_flight(std::shared_ptr<flight_board> const& home, algo::flight_id id,
                         cache_key key, load_purpose const& purpose)
    : home_(home),
      id_(id),
      key_(std::move(key)),
      owner_(owner_token::generate()),
      purpose_(purpose),
      machine_(settings_of(home->services(), purpose)),
      callers_(id, {.has_owned = home->services().owned != nullptr,
                    .behind_answer = purpose.behind_answer()}) {
  said_.end.refresh_below = purpose.refresh_below;
}

load_flight::~load_flight() {
  timer_queue::remove(*this);
  auto const home = home_.lock();
  if (!home) return;
  home->unlist(*this);
  end_probe(home->services(), purpose_);
}

bool load_flight::has_tag(std::string_view tag) const {
  return std::ranges::find(tags_.all, tag) != tags_.all.end();
}

// A call's run is over that could not claim meanwhile.
void load_flight::start(algo::load_guard guard) {
  callers_.when_able([weak = weak_from_this()] {
    auto const self = weak.lock();
    auto const engine = self ? self->home_.lock() : nullptr;
    bool const waits = engine && std::exchange(self->waits_for_turn_, false);
    if (waits) self->take_slot(*engine, algo::load_call::take_slot);
  });
  apply(algo::load_started{guard});
}

bool load_flight::slot_granted() {
  bool const queued = std::exchange(queued_at_, std::nullopt).has_value();
  auto const home = home_.lock();
  // A call that could claim when it queued may have begun to load other keys.
  if (queued && home && !machine_.done() && !callers_.choose(*home)) {
    waits_for_turn_ = true;
    return false;
  }
  apply(algo::slot_granted{});
  return true;
}

// ------------------------------------------------------------------------------- the callers

void load_flight::joined(detail::caller_ptr const& caller) {
  machine_.resume(algo::caller_joined{}, clock::now());
  auto const home = home_.lock();
  if (!home || !waits_for_turn_ || !callers_.choose(caller)) return;
  waits_for_turn_ = false;
  queue_for_slot(*home, algo::load_call::take_slot);
}

void load_flight::everyone_left() {
  auto const keep = shared_from_this();
  auto const home = home_.lock();
  apply(algo::everyone_left{});
  if (home) callers_.others_left(*home);
}

void load_flight::caller_ended() {
  if (auto const home = home_.lock()) callers_.caller_ended(*home);
}

bool load_flight::voided() {
  bool const was_lost = machine_.claim_is_lost();
  said_.end.outdated = true;
  purpose_.replaces({});  // what is there now is another
  apply(algo::load_voided{}, algo::stop_reason::voided);
  return !was_lost && machine_.claim_is_lost();
}

void load_flight::close() {
  if (auto const home = home_.lock()) callers_.stop(*home, algo::stop_reason::closing);
  apply(algo::load_closed{}, algo::stop_reason::closing);
}

// ---------------------------------------------------------------- what the machine said

void load_flight::apply(algo::load_event const& event, algo::stop_reason why) {
  auto const plan = machine_.resume(event, clock::now());
  auto const keep = shared_from_this();
  auto const home = home_.lock();
  if (!home) return;
  auto& services = home->services();
  bool const done = machine_.done();
  if (done) {
    if (auto const at = std::exchange(queued_at_, std::nullopt)) {
      services.slots.of(said_.end.guard).leave(*at);
    }
    if (std::exchange(watching_, false)) stop_watch_.emit(asio::cancellation_type::terminal);
    waits_for_turn_ = false;
  }
  if (plan.detach) home->detach(id_);
  if (plan.signal_lost) {
    said_.end.outdated = true;
    callers_.stop(*home, why);
  }
  if (plan.clean_up) services.give_up_claim(key_, owner_);
  if (plan.answer) home->answer(id_, said_.answer(*plan.answer, key_), callers_.take_sharer());
  // The slot is freed before the call, which may be for a slot of the other kind.
  if (plan.free_slot) services.slots.free(said_.end.guard);
  begin(*home, plan.call);
  if (machine_.done()) {
    home->unlist(*this);
    end_probe(services, purpose_);
  }
  // A loader that hangs has lost its claim, and is not waited for.
  if (purpose_.is_refresh() && (machine_.done() || plan.signal_lost)) {
    bool const refused = said_.end.began == clock::time_point();
    if (refused) cache_counters::add(services.home->counters.refused_refreshes);
    services.keys->loads.refresh_ended(key_, std::exchange(purpose_.refresh, 0));
  }
  if (machine_.done()) home->forget(id_);
  if (machine_.due() == clock::time_point::max()) {
    timer_queue::remove(*this);
  } else {
    services.home->store->timers().schedule(*this, machine_.due());
  }
}

void load_flight::begin(flight_board& home, algo::load_call call) {
  auto& services = home.services();
  cache_store* const claims = services.claims.store();
  if (call == algo::load_call::none) return;
  if (call == algo::load_call::take_slot || call == algo::load_call::take_free_slot)
    return take_slot(home, call);
  if (call == algo::load_call::run_loader) return run_loader(home);
  if (!claims) return;  // closing: the machine is closed next, or is closed already
  switch (call) {
    case algo::load_call::claim:
      return claim(services, *claims);
    case algo::load_call::clear:
      // However this ends, the claim's own step finds out what is there now.
      return services.keys->loads.remove(*claims, key_, [self = shared_from_this()] {
        self->apply(algo::store_answered::replied);
      });
    case algo::load_call::watch:
      return watch(services, *claims);
    case algo::load_call::extend:
      return extend(services, *claims);
    case algo::load_call::fill:
      return fill(services, *claims);
    case algo::load_call::share_error: {
      auto& text = *said_.end.outcome.error;
      return end_claim(services, *claims, services.keys->loads.failed(key_, text));
    }
    case algo::load_call::give_up:
      return end_claim(services, *claims, {});
    default:
      return;
  }
}

// ------------------------------------------------------------------------- taking the claim

void load_flight::take_slot(flight_board& home, algo::load_call how) {
  said_.end.guard = machine_.guard();
  if (callers_.choose(home)) return queue_for_slot(home, how);
  if (how == algo::load_call::take_free_slot) return everyone_left();
  waits_for_turn_ = true;
}

void load_flight::queue_for_slot(flight_board& home, algo::load_call how) {
  auto& slots = home.services().slots.of(said_.end.guard);
  if (slots.try_take()) {
    slot_granted();
    return;
  }
  callers_.queued();
  if (how == algo::load_call::take_free_slot) return everyone_left();
  queued_at_ = slots.wait(shared_from_this());
}

void load_flight::claim(load_services& home, cache_store& claims) {
  auto const& common = *home.home;
  claim_request request{key_, owner_, common.options.claim_ttl, common.form,
                        purpose_.refresh_below};
  auto on_judged = [self = shared_from_this()](result<claim_reply> reply, auto by_tags) {
    self->said_.by_tags = by_tags;
    self->on_claim(std::move(reply));
  };
  auto on_reply = [self = shared_from_this(), on_judged](result<claim_reply> reply) {
    auto const board = self->home_.lock();
    if (!board) return;
    auto give_up = [self] {
      if (auto const still = self->home_.lock()) {
        still->services().give_up_claim(self->key_, self->owner_);
      }
    };
    claim_of_load mine{self->key_, self->purpose_.by_tags, std::move(give_up)};
    board->services().keys->loads.claim_answered(std::move(mine), std::move(reply), on_judged);
  };
  claims.claim(std::move(request), std::move(on_reply));
}

void load_flight::on_claim(result<claim_reply> reply) {
  auto const board = home_.lock();
  if (!board) return;
  auto& home = board->services();
  auto& trouble = home.home->trouble;
  bool const probed = purpose_.probes_claims;
  end_probe(home, purpose_);
  auto const* const ours = reply.has_value() ? std::get_if<claimed>(&*reply) : nullptr;
  if (!ours) callers_.decided();
  if (reply.has_error()) {
    if (!is_store_trouble(reply.error())) {
      said_.refusal = reply.error();
      return apply(algo::claim_answered{claim_answer::refused});
    }
    auto const scope = trouble.failed(algo::store_step::claim, reply.error());
    said_.end.refused_alone = scope == algo::trouble_scope::key;
    if (reply.error() == errc::moving) home.keys->unstored().moves(key_);
    // The claim was refused to this key alone: so others' claims are judged.
    bool const answers = said_.end.refused_alone && reply.error() != errc::overloaded;
    if (probed && answers) trouble.claims_worked();
    return apply(algo::claim_answered{claim_answer::failed});
  }
  trouble.claims_worked();
  if (ours) {
    said_.fencing = ours->fencing;
    return apply(algo::claim_answered{claim_answer::granted});
  }
  if (auto* const hit = std::get_if<cache_hit>(&*reply)) {
    auto entry = home.keys->reads.open(std::move(hit->value));
    // The key is another program's: the value that is loaded now answers for this key alone.
    said_.end.refused_alone = !entry;
    if (!entry) return apply(algo::claim_answered{claim_answer::unreadable});
    if (purpose_.now) {
      if (said_.by_tags != algo::tag_verdict::gone) purpose_.replaces(*entry);
      said_.end.refresh_below = limits::max_ttl;
      if (std::exchange(purpose_.refresh_below, limits::max_ttl) < limits::max_ttl) {
        return apply(algo::claim_answered{claim_answer::busy, milliseconds{1}, random_unit()});
      }
      // The entry has no end of its own: no claim beside it is granted.
      return apply(algo::claim_answered{claim_answer::unreadable});
    }
    // Stale already, by a grace that is longer than ours, or by its tags: it is claimed as what it
    // is.
    if (entry->stale(clock::now())) {
      entry->age->by_tags = said_.by_tags;
      purpose_.by_tags = said_.by_tags != algo::tag_verdict::fresh;
      if (said_.by_tags != algo::tag_verdict::gone) purpose_.replaces(*entry);
      auto const below = key_reads::refresh_below(*entry->age);
      said_.end.refresh_below = below;
      if (std::exchange(purpose_.refresh_below, below) < below) {
        return apply(algo::claim_answered{claim_answer::busy, milliseconds{1}, random_unit()});
      }
      // The entry has no end of its own: no claim beside it is granted.
      if (purpose_.by_tags) return apply(algo::claim_answered{claim_answer::unreadable});
    }
    home.keys->loads.loaded_elsewhere(key_);
    said_.found = std::move(entry->answer);
    return apply(algo::claim_answered{claim_answer::hit});
  }
  if (auto* const other = std::get_if<claim_busy>(&*reply)) {
    return apply(algo::claim_answered{claim_answer::busy, other->remaining, random_unit()});
  }
  said_.shared_error =
      home.keys->loads.failed_elsewhere(key_, std::get<load_backing_off>(std::move(*reply)));
  apply(algo::claim_answered{claim_answer::backing_off});
}

void load_flight::watch(load_services& home, cache_store& claims) {
  watching_ = true;
  watch_request request{key_, machine_.watch_wait(), home.home->form};
  auto on_reply = [self = shared_from_this()](result<watch_reply> reply) {
    self->watching_ = false;
    auto const board = self->home_.lock();
    if (!board) return;
    auto on_judged = [self](result<watch_reply> said) { self->on_watch(std::move(said)); };
    board->services().keys->loads.watch_answered(std::move(reply), std::move(on_judged));
  };
  claims.watch(std::move(request),
               asio::bind_cancellation_slot(stop_watch_.slot(), std::move(on_reply)));
}

void load_flight::on_watch(result<watch_reply> reply) {
  auto const board = home_.lock();
  if (!board || machine_.done()) return;
  auto& home = board->services();
  if (reply.has_error()) {
    if (!is_store_trouble(reply.error())) {
      said_.refusal = reply.error();
      return apply(algo::watch_answered{watch_answer::refused});
    }
    auto const scope = home.home->trouble.failed(algo::store_step::wait, reply.error());
    said_.end.refused_alone = scope == algo::trouble_scope::key;
    // Pushes need rights of their own (channels): the claims go on without them.
    bool const denied = reply.error() == errc::access_denied;
    auto const how = denied ? watch_answer::denied : watch_answer::failed;
    return apply(algo::watch_answered{how, random_unit()});
  }
  if (auto* const hit = std::get_if<cache_hit>(&*reply)) {
    auto entry = home.keys->reads.open(std::move(hit->value));
    // The load that was under way may have begun before a call of load_now.
    if (!entry || entry->stale(clock::now()) || purpose_.now) {
      return apply(algo::watch_answered{watch_answer::look_again, random_unit()});
    }
    said_.found = std::move(entry->answer);
    return apply(algo::watch_answered{watch_answer::hit});
  }
  if (auto* const failed = std::get_if<load_backing_off>(&*reply)) {
    said_.shared_error = home.keys->loads.failed_elsewhere(key_, std::move(*failed));
    return apply(algo::watch_answered{watch_answer::error});
  }
  apply(algo::watch_answered{watch_answer::look_again, random_unit()});
}

}  // namespace herdlock::runtime
