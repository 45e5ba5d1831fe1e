#include "cache/engine/engine.hpp"

#include <algorithm>

#include "cache/engine/over_locks.hpp"
#include "runtime/fitted_ttl.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {

namespace {

fleet_settings fleet_of(engine_settings const& settings, cache_counters& counters) {
  auto const& options = settings.options;
  auto const& hot = *options.hot.keys;
  return {
      .prefix = options.prefix,
      .thresholds = {.threshold = static_cast<std::uint64_t>(options.hot.fleet_threshold),
                     .reads_per_write = hot.reads_per_write,
                     // A sum is of the window before it: so what nobody reads is cool within two.
                     .cool_time = hot.window * 3 / 4,
                     .silence = report_store::keeps_for,
                     .most_hot = hot.max_hot},
      .context = settings.context,
      .counters = counters};
}

// Others may have written since a load of before a fence began. One that waits for a slot has not
// begun: many fences make no more of them than there are slots.
template <class Flights>
std::optional<algo::flight_id> flying(Flights& flights, cache_key const& key) {
  return flights.flying_since_fence(key.str(),
                                    [](auto const& one) { return !one->waits_for_slot(); });
}

result<detail::cache_answer> best_of(cache_freshness* freshness, detail::cache_caller& caller,
                                     result<detail::cache_answer> answer) {
  return freshness ? freshness->best_of(caller, answer) : std::move(answer);
}

// A foreign entry costs loads, unseen in answers. Each text is kept once, and this names no key.
void warn_of_foreign_entries(cache_counters& counters, std::string const& store,
                             cache_options const& options) {
  counters.warnings.add(
      cache_in_words(store, options.prefix) +
      " meets entries that it cannot decode, takes them for misses and loads anew: another cache, "
      "or version of the program, keeps values of another type, or in another format, under this "
      "prefix (here it is format=" +
      (is_framed(options) ? "framed" : "plain") + "); give each of them a prefix of its own");
}

}  // namespace

cache_engine::cache_engine(std::shared_ptr<store_core> values, std::shared_ptr<store_core> locks,
                           engine_settings settings)
    : values_(std::move(values)),
      settings_(std::move(settings)),
      back_(std::make_shared<posting_gate>(values_->executor())),
      flights_({.max_flights = settings_.options.bounds.max_waiting,
                .max_joiners_per_flight = settings_.options.bounds.max_waiting,
                .max_joiners = settings_.options.bounds.max_waiting}),
      slots_(settings_.options),
      trouble_(counters, locks ? claims_in::lock_store : claims_in::value_store,
               cache_in_words(values_->display_name(), settings_.options.prefix)) {
  if (options().hot.keys) local_.hot = std::make_shared<cache_hot>(values_, *options().hot.keys);
  bool const tells = options().hot.fleet_threshold > 0 && values_->reports();
  if (local_.hot && tells) local_.hot->join(fleet_of(settings_, counters));
  if (options().hot.rules == key_rules::on) {
    local_.rules = std::make_shared<cache_rules>(values_, counters, options().prefix);
  }
  if (local_.hot && local_.rules) {
    local_.hot->keep_entries(
        std::make_shared<cache_keep>(values_, counters, options().prefix, local_.rules));
  }
  if (settings_.near != near_cache::off && values_->pushes_changes()) {
    local_.near = std::make_shared<cache_near>(values_, counters, options(), settings_.near,
                                               key_sources{local_.hot, local_.rules});
  }
  counters.add_other_counts = [this](cache_stats& into) {
    if (local_.near) add_counts(local_.near->table(), options().near.max_staleness, into);
    if (local_.hot) local_.hot->add_counts(into);
  };
  values_->caches().open(counters);
  if (options().ttl == herdlock::lasting) {
    cache_lasting::apply_to(settings_.options);
    lasting_ = std::make_unique<cache_lasting>(*this);
  }
  bool const refreshes_plain = !is_framed(options()) && options().early_refresh > 0;
  bool const has_due_keys = local_.near && (local_.hot || local_.rules);
  if (is_framed(options()) || refreshes_plain || has_due_keys)
    freshness_ = std::make_unique<cache_freshness>(*this);
  if (refreshes_plain) plain_times_ = std::make_unique<cache_plain_times>(*this);
  if (!locks) return;
  auto& claim_ttl = settings_.options.claim_ttl;
  claim_ttl = fitted_ttl(locks->traits(), claim_ttl);
  over_locks_ = std::make_shared<cache_over_locks>(values_, std::move(locks), claim_ttl);
}

cache_engine::~cache_engine() {
  values_->caches().close(counters);
  back_->shut();
}

void cache_engine::on_closing() {
  if (std::exchange(closed_, true)) return;
  slots_.close();
  if (lasting_) lasting_->close();
  if (local_.hot) local_.hot->close();
  if (local_.rules) local_.rules->close();
  if (local_.near) local_.near->close();
  for (auto const id : flights_.running()) {
    auto* const state = flights_.state(id);
    if (!state) continue;
    auto const flight = *state;
    flight->close();
  }
  callers_.end_all();
  // The outcome of a loader goes to its call alone from now on.
  back_->shut();
}

// -------------------------------------------------------------------------- callers come

void cache_engine::submit(std::span<detail::caller_ptr> callers) {
  if (arrivals_.add(callers, settings_.options.bounds.max_waiting)) {
    asio::post(values_->executor(), [self = shared_from_this()] { self->drain(); });
  }
  for (auto& caller : callers) {
    asio::post(values_->executor(), [self = shared_from_this(), caller = std::move(caller)] {
      if (!caller->answered) self->turn_away(*caller);
    });
  }
}

void cache_engine::turn_away(detail::cache_caller& caller) {
  cache_counters::add(counters.overloaded);
  callers_.finish(caller, make_failure(errc::overloaded,
                                       "cache in " + values_->display_name() + ": " +
                                           std::to_string(settings_.options.bounds.max_waiting) +
                                           " callers are waiting already (bounds.max_waiting)"));
}

// Everyone who came since the last turn. Reads are sent after all have been looked at, so that
// callers of one key who came in one turn share one.
void cache_engine::drain() {
  auto const now = clock::now();
  arrivals_.fetch([&](detail::caller_ptr caller) { look_for(std::move(caller), now); },
                  [&](detail::caller_ptr caller) { accept(std::move(caller), now); });
  looks_.send_some([this](look_group group) { send_look(std::move(group)); });
}

void cache_engine::look_again(detail::caller_ptr caller) {
  if (caller->answered) return;
  if (!arrivals_.again(std::move(caller))) return;
  asio::post(values_->executor(), [self = shared_from_this()] { self->drain(); });
}

void cache_engine::look_again(algo::flight_id id) {
  for (auto& caller : flights_.take_joiners(id)) {
    caller->in_flight = false;
    look_again(std::move(caller));
  }
}

void cache_engine::accept(detail::caller_ptr caller, clock::time_point now) {
  if (caller->answered) return;  // cancelled before its turn
  bool const has_room = callers_.add(*caller, now);
  if (closed_) return callers_.finish(*caller, values_->closed_failure());
  if (!has_room) return turn_away(*caller);
  if (caller->wish != detail::caller_wish::refresh) {
    auto const own = without_prefix(caller->key, options());
    bool const loads = caller->wish == detail::caller_wish::load;
    auto const who = loads ? detail::near_look::first : detail::near_look::any;
    auto hit = local_.near ? local_.near->find(own, who) : detail::near_hit();
    if (hit) return callers_.finish(*caller, answer_of(std::move(hit)));
    if (local_.rules) local_.rules->open();
    if (local_.hot) local_.hot->read(own, now);
  }
  look_for(std::move(caller), now);
}

void cache_engine::look_for(detail::caller_ptr caller, clock::time_point now) {
  if (caller->answered) return;
  if (closed_) return callers_.finish(*caller, values_->closed_failure());
  if (caller->wish == detail::caller_wish::load) {
    // If there may be a value to be served meanwhile, it is looked for.
    auto const running = flying(flights_, caller->key);
    if (running && !(*flights_.state(*running))->behind_answer()) {
      count_miss(*caller, counters);
      return launch(std::move(caller), algo::load_guard::guarded);
    }
  }
  auto const use = trouble_.next_read(now);
  if (use == algo::store_use::ask) return looks_.add(std::move(caller));
  if (use == algo::store_use::skip_and_probe) probe(caller->key);
  do_without_store(caller, trouble_.latest());
}

// ----------------------------------------------------------------------------- the flights

void cache_engine::launch(detail::caller_ptr caller, algo::load_guard guard, load_purpose purpose) {
  if (caller->answered) return;
  if (closed_) return callers_.finish(*caller, values_->closed_failure());
  bool const joins = flying(flights_, caller->key).has_value();
  bool const is_first = guard == algo::load_guard::guarded && !joins;
  bool const moves = is_first && unstored_.is_moving(caller->key);
  bool const claims = is_first && !moves;
  auto const use = claims ? trouble_.next_claim(clock::now()) : algo::store_use::ask;
  // Claims failed a moment ago: loads are unguarded until one of them has claimed again.
  bool const probe = use == algo::store_use::skip_and_probe;
  if (use == algo::store_use::skip || moves) {
    if (purpose.is_refresh()) return;
    guard = algo::load_guard::unguarded;
  }
  bool const refreshes = purpose.is_refresh();
  auto const* const known =
      unstored_.find(caller->key, probe && !refreshes ? algo::load_guard::unguarded : guard);
  if (known) {
    if (probe) trouble_.claim_probe_over();
    if (refreshes) return;
    cache_counters::add(counters.joined);
    return callers_.finish(*caller, best_of(freshness_.get(), *caller, *known));
  }
  auto const reply = flights_.join(caller->key.str(), detail::caller_ptr(caller));
  if (!reply.accepted()) {
    if (probe) trouble_.claim_probe_over();
    if (refreshes) return;
    auto end = best_of(
        freshness_.get(), *caller,
        make_failure(errc::overloaded, "too many loads of the cache in " + values_->display_name() +
                                           " (bounds.max_waiting)"));
    if (end.has_error()) cache_counters::add(counters.overloaded);
    return callers_.finish(*caller, std::move(end));
  }
  caller->in_flight = true;
  caller->flight = reply.ticket.flight.value;
  caller->slot = reply.ticket.slot;
  caller->visit = reply.ticket.visit;
  auto& flight = *flights_.state(reply.ticket.flight);
  if (reply.outcome == algo::join_outcome::joined) {
    cache_counters::add(counters.joined);
    caller->load_decided();
    flight->joined(caller);
    return;
  }
  purpose.probes_claims = probe;
  flight =
      std::make_shared<load_flight>(shared_from_this(), reply.ticket.flight, caller->key, purpose);
  auto const started = flight;
  live_.emplace(started->key().str(), started.get());
  started->start(guard);
}

// The caller's loader runs, unless somebody is at it, or claims cannot be had.
void cache_engine::refresh(detail::caller_ptr const& caller, load_purpose purpose) {
  cache_counters::add(counters.refreshes);
  // A value that the store does not take is loaded less and less often.
  bool const begins = !flying(flights_, caller->key) && unstored_.may_be_taken(caller->key);
  if (begins) launch(caller, algo::load_guard::guarded, purpose);
  // The caller is in the flight, or its loader runs already.
  if (begins && (caller->in_flight || caller->loads || caller->answered)) return;
  if (begins && flying(flights_, caller->key)) return;
  cache_counters::add(counters.refused_refreshes);
  freshness_->refresh_ended(caller->key, purpose.refresh);
}

algo::load_settings load_settings_of(cache_engine const& home, load_purpose const& purpose) {
  bool const pushed = !home.over_locks() && home.home().traits().pushes_fills;
  return {.claim_ttl = home.options().claim_ttl,
          .max_load_time = home.options().max_load_time,
          .waiting = pushed ? algo::load_waiting::watch : algo::load_waiting::back_off,
          // Without one of these nobody could load behind the answer.
          .behind_answer = purpose.behind_answer() && (home.owned() || purpose.caller_waits),
          .caller_waits = purpose.caller_waits};
}

cache_store* cache_engine::claims() const {
  return over_locks_ ? over_locks_.get() : values_->values().get();
}

void cache_engine::finish_with_best(detail::cache_caller& caller,
                                    result<detail::cache_answer> answer) {
  auto* const aged = closed_ ? nullptr : freshness_.get();
  callers_.finish(caller, best_of(aged, caller, std::move(answer)));
}

void cache_engine::answer(algo::flight_id id, result<detail::cache_answer> const& answer,
                          detail::caller_ptr const& loaded) {
  auto const joiners = flights_.finish(id);
  if (loaded) finish_with_best(*loaded, answer);
  for (auto const& caller : joiners) finish_with_best(*caller, answer);
}

void cache_engine::forget(algo::flight_id id) {
  auto* const aged = closed_ ? nullptr : freshness_.get();
  for (auto const& caller : flights_.finish(id)) {
    caller->in_flight = false;
    auto end = best_of(aged, *caller, values_->closed_failure());
    // No loader of his ran for this flight.
    if (end.has_error() && !closed_) {
      launch(caller, algo::load_guard::guarded);
    } else {
      callers_.finish(*caller, std::move(end));
    }
  }
}

std::optional<found_entry> cache_engine::read(cache_value stored) {
  found_entry entry;
  // An entry of the other format is none of ours.
  bool readable = is_framed(options()) ? freshness_->open(stored, entry.age) : !is_framed(stored);
  if (readable && std::holds_alternative<absent>(stored)) {
    entry.answer.kind = detail::entry_kind::absent;
    return entry;
  }
  if (readable) {
    auto object = settings_.decode(stored);
    readable = object.has_value();
    if (readable) entry.answer = {detail::entry_kind::value, *std::move(object)};
  }
  if (readable) return entry;
  cache_counters::add(counters.undecodable);
  warn_of_foreign_entries(counters, values_->display_name(), options());
  return std::nullopt;
}

}  // namespace herdlock::runtime
