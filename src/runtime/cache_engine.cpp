#include "runtime/cache_engine.hpp"

#include <algorithm>

#include "runtime/cache_claim_clean_up.hpp"
#include "runtime/cache_over_locks.hpp"
#include "runtime/fitted_ttl.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {

bool is_store_trouble(failure const& why) {
  if (why.code.category() != category()) return true;
  switch (static_cast<errc>(why.code.value())) {
    case errc::unavailable:
    case errc::timed_out:
    case errc::access_denied:
    case errc::protocol:
    case errc::overloaded:
      return true;
    default:
      return false;
  }
}

namespace {

// What the next request, whatever it asks for, would meet as well.
bool is_out_of_reach(failure const& why) {
  if (why.code.category() != category()) return true;
  return why == errc::unavailable || why == errc::timed_out;
}

}  // namespace

cache_engine::cache_engine(std::shared_ptr<store_core> values, std::shared_ptr<store_core> locks,
                           engine_settings settings)
    : values_(std::move(values)),
      settings_(std::move(settings)),
      back_(std::make_shared<posting_gate>(values_->executor())),
      answers_(std::make_shared<cache_answers>(values_->executor())),
      flights_({.max_flights = settings_.options.max_waiting,
                .max_joiners_per_flight = settings_.options.max_waiting,
                .max_joiners = settings_.options.max_waiting}),
      guarded_slots_(settings_.options.max_loads),
      unguarded_slots_(settings_.options.max_loads_without_store) {
  values_->caches().open(counters);
  if (!locks) return;
  auto& claim_ttl = settings_.options.claim_ttl;
  claim_ttl = fitted_ttl(locks->traits(), claim_ttl);
  over_locks_ = std::make_shared<cache_over_locks>(values_, std::move(locks), claim_ttl);
}

cache_engine::~cache_engine() {
  values_->caches().close(counters);
  back_->shut();
  callers_.clear();
}

failure cache_engine::last_store_error() const {
  std::lock_guard const lock(mutex_);
  return last_store_error_;
}

// -------------------------------------------------------------------------- callers come

void cache_engine::submit(detail::caller_ptr caller) {
  {
    std::lock_guard const lock(mutex_);
    if (incoming_.size() < settings_.options.max_waiting) {
      incoming_.push_back(std::move(caller));
      if (std::exchange(drain_posted_, true)) return;
      return asio::post(values_->executor(), [self = shared_from_this()] { self->drain(); });
    }
  }
  asio::post(values_->executor(), [self = shared_from_this(), caller = std::move(caller)] {
    if (!caller->answered) self->turn_away(*caller);
  });
}

void cache_engine::turn_away(detail::cache_caller& caller) {
  cache_counters::add(counters.overloaded);
  finish(caller, make_failure(errc::overloaded, "cache in " + store_name() + ": " +
                                                    std::to_string(settings_.options.max_waiting) +
                                                    " callers are waiting already (max_waiting)"));
}

// Everyone who came since the last turn. Reads are sent after all have been looked at, so that
// callers of one key who came in one turn share one.
void cache_engine::drain() {
  {
    std::lock_guard const lock(mutex_);
    batch_.swap(incoming_);
    drain_posted_ = false;
  }
  auto const now = clock::now();
  for (auto& caller : batch_) accept(std::move(caller), now);
  batch_.clear();
  send_looks();
}

void cache_engine::accept(detail::caller_ptr caller, clock::time_point now) {
  if (caller->answered) return;  // cancelled before its turn
  auto const wait = settings_.options.wait;
  caller->deadline = wait > limits::max_ttl ? clock::time_point::max() : now + wait;
  bool const full = callers_.size() >= settings_.options.max_waiting;
  callers_.push_back(*caller);
  if (closed_) return finish(*caller, closed_failure());
  if (full) return turn_away(*caller);
  if (!deadlines_.is_linked() && caller->deadline != clock::time_point::max()) {
    values_->timers().schedule(deadlines_, caller->deadline);
  }
  if (caller->wish == detail::caller_wish::load && flights_.flying(caller->key.str())) {
    cache_counters::add(counters.misses);
    return launch(std::move(caller), algo::load_guard::guarded);
  }
  auto const use = health_.next(now);
  if (use == algo::store_use::ask) return look(std::move(caller));
  if (use == algo::store_use::skip_and_probe) probe(caller->key);
  skip_store(std::move(caller));
}

void cache_engine::look(detail::caller_ptr caller) {
  if (batch_.size() > 1) {
    auto const [found, fresh] = looks_by_key_.try_emplace(caller->key.str(), looks_.size());
    if (!fresh) {
      looks_[found->second].rest.push_back(std::move(caller));
      return;
    }
  }
  looks_.push_back(look_group{std::move(caller), {}});
}

void cache_engine::send_looks() {
  looks_by_key_.clear();
  for (auto& group : looks_) send_look(std::move(group));
  looks_.clear();
}

void cache_engine::send_look(look_group group) {
  auto const& values = values_->values();
  if (!values) {
    group.for_each([&](auto const& caller) { finish(*caller, closed_failure()); });
    return;
  }
  cache_key key = group.head->key;
  auto on_reply = [self = shared_from_this(), group = std::move(group)](
                      result<cache_lookup> reply) { self->on_look(group, std::move(reply)); };
  values->get(std::move(key), settings_.form, std::move(on_reply));
}

void cache_engine::on_look(look_group const& group, result<cache_lookup> reply) {
  if (reply.has_error()) {
    if (is_store_trouble(reply.error())) read_failed(reply.error());
    group.for_each([&](auto const& caller) { on_look_failed(caller, reply.error()); });
    return;
  }
  store_worked();
  std::optional<detail::cache_answer> found;
  if (reply->has_value()) found = decode(**reply);
  if (found) {
    bool const value = found->kind == detail::entry_kind::value;
    auto& count = value ? counters.hits : counters.negative_hits;
    count.fetch_add(1 + group.rest.size(), std::memory_order_relaxed);
    if (group.rest.empty()) {
      found->sole = true;
      return finish(*group.head, *std::move(found));
    }
    group.for_each([&](auto const& caller) { finish(*caller, *found); });
    return;
  }
  group.for_each([&](auto const& caller) {
    if (caller->answered) return;
    cache_counters::add(counters.misses);
    if (caller->wish == detail::caller_wish::look) {
      return finish(*caller, detail::cache_answer{});
    }
    launch(caller, algo::load_guard::guarded);
  });
}

void cache_engine::on_look_failed(detail::caller_ptr const& caller, failure const& why) {
  if (caller->answered) return;
  if (caller->wish == detail::caller_wish::look || !is_store_trouble(why)) {
    return finish(*caller, why);
  }
  cache_counters::add(counters.misses);
  launch(caller, algo::load_guard::unguarded);
}

// The store failed a moment ago (S9): whoever has a loader loads under this process' own bounds.
void cache_engine::skip_store(detail::caller_ptr caller) {
  if (caller->wish == detail::caller_wish::look) return finish(*caller, last_store_error());
  cache_counters::add(counters.misses);
  launch(std::move(caller), algo::load_guard::unguarded);
}

void cache_engine::probe(cache_key const& key) {
  auto const& values = values_->values();
  if (!values) return;
  auto on_reply = [self = shared_from_this()](result<cache_lookup> reply) {
    if (reply.has_error() && is_store_trouble(reply.error())) {
      self->read_failed(reply.error());
    } else {
      self->store_worked();
    }
  };
  values->get(key, settings_.form, std::move(on_reply));
}

// ----------------------------------------------------------------------------- the flights

bool cache_engine::answer_again(detail::cache_caller& caller) {
  auto const* const known = unguarded_answers_.find(caller.key);
  if (!known) return false;
  cache_counters::add(counters.joined);
  finish(caller, *known);
  return true;
}

void cache_engine::launch(detail::caller_ptr caller, algo::load_guard guard) {
  if (caller->answered) return;
  if (closed_) return finish(*caller, closed_failure());
  bool const claims = guard == algo::load_guard::guarded && !flights_.flying(caller->key.str());
  auto const use = claims ? claim_health_.next(clock::now()) : algo::store_use::ask;
  // Claims failed a moment ago: loads are unguarded until one of them has claimed again.
  bool const probe = use == algo::store_use::skip_and_probe;
  if (use == algo::store_use::skip) guard = algo::load_guard::unguarded;
  if ((probe || guard == algo::load_guard::unguarded) && answer_again(*caller)) {
    if (probe) claim_probe_over();
    return;
  }
  auto const reply = flights_.join(caller->key.str(), detail::caller_ptr(caller));
  if (!reply.accepted()) {
    if (probe) claim_probe_over();
    cache_counters::add(counters.overloaded);
    return finish(*caller, make_failure(errc::overloaded, "too many loads of the cache in " +
                                                              store_name() + " (max_waiting)"));
  }
  caller->seated = true;
  caller->flight = reply.ticket.flight.value;
  caller->slot = reply.ticket.slot;
  caller->visit = reply.ticket.visit;
  auto& flight = *flights_.state(reply.ticket.flight);
  if (reply.outcome == algo::join_outcome::joined) {
    cache_counters::add(counters.joined);
    caller->drop_loader();
    flight->joined();
    return;
  }
  caller->leads = true;
  flight = std::make_shared<load_flight>(shared_from_this(), reply.ticket.flight, caller);
  auto const started = flight;
  live_.emplace(started->key().str(), started.get());
  if (probe) started->probe_claims();
  started->start(guard);
}

algo::load_settings cache_engine::load_settings() const {
  bool const pushed = !over_locks_ && values_->traits().pushes_fills;
  return {.claim_ttl = options().claim_ttl,
          .max_load_time = options().max_load_time,
          .waiting = pushed ? algo::load_waiting::watch : algo::load_waiting::back_off};
}

cache_store* cache_engine::claims() const {
  return over_locks_ ? over_locks_.get() : values_->values().get();
}

algo::slot_queue<std::shared_ptr<load_flight>>& cache_engine::slots(algo::load_guard guard) {
  return guard == algo::load_guard::guarded ? guarded_slots_ : unguarded_slots_;
}

void cache_engine::free_slot(algo::load_guard guard) {
  if (closed_) return;  // whoever queues is being closed, too
  if (auto next = slots(guard).give_back()) (*next)->slot_granted();
}

void cache_engine::answer(algo::flight_id id, result<detail::cache_answer> const& answer) {
  auto const joiners = flights_.finish(id);
  for (auto const& caller : joiners) finish(*caller, answer);
}

void cache_engine::forget(algo::flight_id id) {
  for (auto const& caller : flights_.finish(id)) finish(*caller, closed_failure());
}

std::optional<detail::cache_answer> cache_engine::decode(cache_value const& value) {
  if (std::holds_alternative<absent>(value)) {
    return detail::cache_answer{.kind = detail::entry_kind::absent};
  }
  auto object = settings_.decode(value);
  if (object.has_error()) {
    cache_counters::add(counters.undecodable);
    return std::nullopt;
  }
  return detail::cache_answer{.kind = detail::entry_kind::value, .object = *std::move(object)};
}

void cache_engine::read_failed(failure const& why) {
  health_.failed(clock::now(), random_unit());
  note_store_error(why);
}

// A server that refuses writes (no rights, no memory, a full disk, too few replicas) still has
// hits, and it says "unavailable" as one does that is gone: the next read finds out which of the
// two it is. One that is silent is silent to reads as well. What a lock store does is no matter of
// reads.
void cache_engine::step_failed(failure const& why) {
  if (is_out_of_reach(why)) {
    claim_health_.failed(clock::now(), random_unit());
    if (!over_locks_ && why != errc::unavailable) health_.failed(clock::now(), random_unit());
  }
  note_store_error(why);
}

void cache_engine::claims_worked() {
  claim_health_.succeeded();
  if (!over_locks_) health_.succeeded();
}

void cache_engine::note_store_error(failure const& why) {
  cache_counters::add(counters.store_errors);
  std::lock_guard const lock(mutex_);
  last_store_error_ = why;
}

void cache_engine::give_up_claim(cache_key key, owner_token owner) {
  std::shared_ptr<cache_store> over = over_locks_;
  claim_request claim{std::move(key), std::move(owner), options().claim_ttl, form()};
  start_claim_clean_up(values_, std::move(over), claim);
}

milliseconds cache_engine::ttl_of(cache_value const& value) const {
  auto const base = std::holds_alternative<absent>(value) ? options().negative_ttl : options().ttl;
  double const share = 1.0 + options().ttl_jitter * (2 * random_unit() - 1);
  auto const varied = milliseconds(static_cast<std::int64_t>(double(base.count()) * share));
  return std::clamp(varied, limits::min_ttl, limits::max_ttl);
}

// --------------------------------------------------------------------------- callers leave

void cache_engine::finish(detail::cache_caller& caller, result<detail::cache_answer> answer) {
  if (std::exchange(caller.answered, true)) return;
  auto const keep = caller.shared_from_this();
  if (caller.is_linked()) callers_.erase(callers_.iterator_to(caller));
  caller.seated = false;
  if (!caller.leads) caller.drop_loader();
  answers_->add(keep, std::move(answer));
}

void cache_engine::leave_flight(detail::cache_caller& caller) {
  if (!std::exchange(caller.seated, false)) return;
  algo::flight_ticket const ticket{{caller.flight}, caller.slot, caller.visit};
  auto const left = flights_.leave(ticket);
  if (!left.joiner || left.remaining > 0) return;
  if (auto* const flight = flights_.state(ticket.flight)) {
    auto const keep = *flight;
    keep->everyone_left();
  }
}

void cache_engine::cancel(detail::cache_caller& caller) {
  if (caller.answered) return;
  cache_counters::add(counters.canceled);
  leave_flight(caller);
  finish(caller, make_failure(errc::canceled, "the call for " + caller.key.str() +
                                                  " was cancelled; a load that runs goes on"));
}

void cache_engine::expire(clock::time_point now) {
  while (!callers_.empty() && callers_.front().deadline <= now) {
    auto const late = callers_.front().shared_from_this();
    cache_counters::add(counters.timed_out);
    leave_flight(*late);
    finish(*late, make_failure(errc::timed_out, "no value for " + late->key.str() + " from " +
                                                    store_name() + " or its loader within " +
                                                    std::to_string(settings_.options.wait.count()) +
                                                    " ms; a load that runs goes on"));
  }
  if (!callers_.empty()) values_->timers().schedule(deadlines_, callers_.front().deadline);
}

void cache_engine::on_closing() {
  if (std::exchange(closed_, true)) return;
  back_->shut();
  for (auto const id : flights_.running()) {
    auto* const state = flights_.state(id);
    if (!state) continue;
    auto const flight = *state;
    flight->close();
  }
  while (!callers_.empty()) {
    cache_counters::add(counters.canceled);
    finish(callers_.front(), closed_failure());
  }
  timer_queue::remove(deadlines_);
}

}  // namespace herdlock::runtime
