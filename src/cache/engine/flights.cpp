#include "cache/engine/flights.hpp"

namespace herdlock::runtime {
namespace {

algo::flight_limits limits_of(load_bounds const& bounds) {
  return {.max_flights = bounds.max_waiting,
          .max_joiners_per_flight = bounds.max_waiting,
          .max_joiners = bounds.max_waiting};
}

algo::flight_ticket ticket_of(detail::cache_caller const& caller) {
  return {{caller.flight}, caller.slot, caller.visit};
}

}  // namespace

void load_slots::free(algo::load_guard guard) {
  while (!closed_) {  // then whoever queues is being closed, too
    auto const next = of(guard).give_back();
    if (!next || (*next)->slot_granted()) return;
  }
}

cache_flights::cache_flights(load_services services, std::shared_ptr<cache_callers> callers,
                             std::function<void(detail::caller_ptr)> look_again)
    : services_(std::move(services)),
      callers_(std::move(callers)),
      look_again_(std::move(look_again)),
      table_(limits_of(services_.home->options.bounds),
             algo::record_flights(services_.keys->table())) {
  callers_->tell({.left = [this](detail::cache_caller& caller) { left(caller); },
                  .ended_while_loading =
                      [this](detail::cache_caller& caller) {
                        auto* const flight = table_.state({caller.flight});
                        if (!flight) return;
                        auto const keep = *flight;
                        keep->caller_ended();
                      }});
}

// Others may have written since a load of before a fence began. One that waits for a slot has not
// begun: many fences make no more of them than there are slots.
std::optional<algo::flight_id> cache_flights::flying(cache_key const& key) {
  return table_.flying_since_fence(key.str(),
                                   [](auto const& one) { return !one->waits_for_slot(); });
}

// A load that began before a call of load_now is none for it, nor for those who come behind it.
void cache_flights::leave_older_load(cache_key const& key) {
  auto const running = flying(key);
  if (!running) return;
  auto const& purpose = (*table_.state(*running))->purpose();
  if (!purpose.now || purpose.has_begun) table_.detach(*running);
}

bool cache_flights::are_awaited(cache_key const& key) {
  auto const running = flying(key);
  return running && !(*table_.state(*running))->purpose().others_look();
}

void cache_flights::launch(detail::caller_ptr caller, algo::load_guard guard,
                           load_purpose purpose) {
  auto const& home = *services_.home;
  auto& unstored = services_.keys->unstored();
  if (caller->answered) return;
  if (callers_->closed()) return callers_->finish(*caller, home.store->closed_failure());
  purpose.now = loads_now(*caller);
  if (purpose.now) leave_older_load(caller->key);
  bool const joins = flying(caller->key).has_value();
  bool const is_first = guard == algo::load_guard::guarded && !joins;
  bool const moves = is_first && unstored.is_moving(caller->key);
  bool const claims = is_first && !moves;
  auto const use = claims ? services_.home->trouble.next_claim(clock::now()) : algo::store_use::ask;
  // Claims failed a moment ago: loads are unguarded until one of them has claimed again.
  bool const probe = use == algo::store_use::skip_and_probe;
  bool const refreshes = purpose.is_refresh();
  if (use == algo::store_use::skip || moves) {
    if (refreshes) return;
    guard = algo::load_guard::unguarded;
  }
  auto const known =
      unstored.find(caller->key, probe && !refreshes ? algo::load_guard::unguarded : guard);
  // A value that is given again is not loaded now; the error of a load answers everybody.
  if (known && (known->has_error() || !purpose.now)) {
    if (probe) services_.home->trouble.claim_probe_over();
    if (refreshes) return;
    cache_counters::add(services_.home->counters.joined);
    return callers_->finish_with_best(*caller, *known);
  }
  auto const reply = table_.join(caller->key.str(), detail::caller_ptr(caller));
  if (!reply.accepted()) {
    if (probe) services_.home->trouble.claim_probe_over();
    if (!refreshes) refuse(*caller);
    return;
  }
  caller->in_flight = true;
  caller->flight = reply.ticket.flight.value;
  caller->slot = reply.ticket.slot;
  caller->visit = reply.ticket.visit;
  auto& flight = *table_.state(reply.ticket.flight);
  if (reply.outcome == algo::join_outcome::joined) {
    cache_counters::add(services_.home->counters.joined);
    caller->load_decided();
    flight->joined(caller);
    return;
  }
  purpose.probes_claims = probe;
  flight =
      std::make_shared<load_flight>(shared_from_this(), reply.ticket.flight, caller->key, purpose);
  auto const started = flight;
  services_.keys->table().find(started->key().str())->users.push_back(*started);
  started->start(guard);
}

void cache_flights::refuse(detail::cache_caller& caller) {
  auto const why = make_failure(errc::overloaded, "too many loads of the cache in " +
                                                      services_.home->store->display_name() +
                                                      " (bounds.max_waiting, or "
                                                      "bounds.max_known_bytes)");
  auto end = callers_->best_of(caller, why);
  if (end.has_error()) cache_counters::add(services_.home->counters.overloaded);
  callers_->finish(caller, std::move(end));
}

bool cache_flights::refresh(detail::caller_ptr const& caller, load_purpose const& purpose) {
  auto& counters = services_.home->counters;
  cache_counters::add(counters.refreshes);
  // A value that the store does not take is loaded less and less often.
  bool const begins = !flying(caller->key) && services_.keys->unstored().may_be_taken(caller->key);
  if (begins) launch(caller, algo::load_guard::guarded, purpose);
  // The caller is in the flight, or its loader runs already.
  bool const is_part = caller->in_flight || caller->loads || caller->answered;
  bool const has_begun = begins && (is_part || flying(caller->key));
  if (!has_begun) {
    cache_counters::add(counters.refused_refreshes);
    services_.keys->loads.refresh_ended(caller->key, purpose.refresh);
  }
  if (purpose.caller_waits && is_part) return true;
  callers_->leave_flight(*caller);
  return false;
}

// ------------------------------------------------------------------------- ends of flights

void cache_flights::answer(algo::flight_id id, result<detail::cache_answer> const& answer,
                           detail::caller_ptr const& loaded) {
  auto const all = table_.finish(id);
  if (loaded) callers_->finish_with_best(*loaded, answer);
  for (auto const& caller : all) callers_->finish_with_best(*caller, answer);
}

void cache_flights::forget(algo::flight_id id) {
  for (auto const& caller : table_.finish(id)) {
    caller->in_flight = false;
    auto end = callers_->best_of(*caller, services_.home->store->closed_failure());
    // No loader of his ran for this flight.
    if (!end.has_error() || callers_->closed()) {
      callers_->finish(*caller, std::move(end));
    } else if (loads_now(*caller)) {
      look_again_(caller);
    } else {
      launch(caller, algo::load_guard::guarded);
    }
  }
}

void cache_flights::look_again(algo::flight_id id) {
  for (auto& caller : table_.take_joiners(id)) {
    caller->in_flight = false;
    look_again_(std::move(caller));
  }
}

void cache_flights::take_out(detail::cache_caller& caller) {
  if (std::exchange(caller.in_flight, false)) table_.leave(ticket_of(caller));
}

// The flight is told when the caller was the last.
void cache_flights::left(detail::cache_caller& caller) {
  auto const ticket = ticket_of(caller);
  auto const left = table_.leave(ticket);
  if (!left.joiner || left.remaining > 0) return;
  if (auto* const flight = table_.state(ticket.flight)) {
    auto const keep = *flight;
    keep->everyone_left();
  }
}

void cache_flights::list_tagged(load_flight& flight) {
  tagged_load& tagged = flight;
  if (!tagged.is_linked()) tagged_.push_back(flight);
}

void cache_flights::unlist(load_flight& flight) {
  algo::key_user& user = flight;
  tagged_load& tagged = flight;
  if (tagged.is_linked()) tagged.unlink();
  if (!user.is_linked()) return;
  algo::key_place const at(services_.keys->table(), flight.key().str());
  user.unlink();
}

// ----------------------------------------------------------------------------- what voids them

// Loads that nobody can join any more, too: they may have a claim, and store what they load.
std::vector<std::shared_ptr<load_flight>> cache_flights::at_work(cache_key const& key) {
  std::vector<std::shared_ptr<load_flight>> all;
  auto* const record = services_.keys->table().find(key.str());
  if (!record) return all;
  for (auto& user : record->users) {
    if (auto one = static_cast<load_flight&>(user).weak_from_this().lock()) {
      all.push_back(std::move(one));
    }
  }
  return all;
}

void cache_flights::voided(cache_key const& key, voiding how) {
  services_.keys->writes.voided(key, how);
  table_.detach(key.str());
  for (auto const& flight : at_work(key)) {
    // A lock store knows nothing of put and invalidate: the lock is given back here.
    if (flight->voided() && !services_.claims.is_value_store()) {
      services_.give_up_claim(key, flight->owner());
    }
  }
  services_.claims.voided(key);
}

cache_flights::claims_of_loads cache_flights::tag_ended(std::string const& tag,
                                                        detail::tag_ending how) {
  services_.keys->writes.tag_changed(tag, how);
  std::vector<std::shared_ptr<load_flight>> with_tag;
  for (auto& flight : tagged_) {
    if (!flight.has_tag(tag)) continue;
    if (auto one = flight.weak_from_this().lock()) with_tag.push_back(std::move(one));
  }
  bool const is_end = how == detail::tag_ending::invalidate;
  auto const copies = is_end ? voiding::ends_copies : voiding::keeps_copies;
  claims_of_loads claims;
  for (auto const& flight : with_tag) {
    services_.keys->writes.ages_voided(flight->key(), copies);
    // The store knows nothing of the tags of a key: its claim is given back here.
    if (flight->voided()) claims.emplace_back(flight->key(), flight->owner());
  }
  return claims;
}

void cache_flights::close() {
  services_.slots.close();
  for (auto const id : table_.running()) {
    auto* const state = table_.state(id);
    if (!state) continue;
    auto const flight = *state;
    flight->close();
  }
}

}  // namespace herdlock::runtime
