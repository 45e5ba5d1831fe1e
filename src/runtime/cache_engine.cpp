#include "runtime/cache_engine.hpp"

#include <algorithm>

#include "runtime/cache_over_locks.hpp"
#include "runtime/fitted_ttl.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {

namespace {

result<detail::cache_answer> best_of(cache_freshness* freshness, detail::cache_caller& caller,
                                     result<detail::cache_answer> answer) {
  return freshness ? freshness->best_of(caller, answer) : std::move(answer);
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
      slots_{algo::slot_queue<std::shared_ptr<load_flight>>(settings_.options.max_loads),
             algo::slot_queue<std::shared_ptr<load_flight>>(
                 settings_.options.max_loads_without_store)},
      trouble_(counters, locks ? claims_in::lock_store : claims_in::value_store) {
  if (options().near != near_cache::off && values_->pushes_changes()) {
    near_ = std::make_shared<cache_near>(values_, counters, options());
    counters.add_near_counts = [this](cache_stats& into) { near_->add_counts(into); };
  }
  values_->caches().open(counters);
  if (options().ttl == herdlock::lasting) {
    cache_lasting::apply_to(settings_.options);
    lasting_ = std::make_unique<cache_lasting>(*this);
  }
  bool const refreshes_plain = !is_framed(options()) && options().early_refresh > 0;
  if (is_framed(options()) || refreshes_plain)
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
  callers_.clear();
}

// -------------------------------------------------------------------------- callers come

void cache_engine::submit(std::span<detail::caller_ptr> callers) {
  bool drains = true;  // somebody else sees to it
  {
    std::lock_guard const lock(mutex_);
    while (!callers.empty() && incoming_.size() < settings_.options.max_waiting) {
      incoming_.push_back(std::move(callers.front()));
      callers = callers.subspan(1);
      drains = std::exchange(drain_posted_, true) && drains;
    }
  }
  if (!drains) asio::post(values_->executor(), [self = shared_from_this()] { self->drain(); });
  for (auto& caller : callers) {
    asio::post(values_->executor(), [self = shared_from_this(), caller = std::move(caller)] {
      if (!caller->answered) self->turn_away(*caller);
    });
  }
}

void cache_engine::turn_away(detail::cache_caller& caller) {
  cache_counters::add(counters.overloaded);
  finish(caller, make_failure(errc::overloaded, "cache in " + values_->display_name() + ": " +
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
  looks_.send_all([this](look_group group) { send_look(std::move(group)); });
}

void cache_engine::accept(detail::caller_ptr caller, clock::time_point now) {
  if (caller->answered) return;  // cancelled before its turn
  auto const wait = settings_.options.wait;
  caller->deadline = wait > limits::max_ttl ? clock::time_point::max() : now + wait;
  bool const full = callers_.size() >= settings_.options.max_waiting;
  callers_.push_back(*caller);
  if (closed_) return finish(*caller, values_->closed_failure());
  if (full) return turn_away(*caller);
  if (!deadlines_.is_linked() && caller->deadline != clock::time_point::max()) {
    values_->timers().schedule(deadlines_, caller->deadline);
  }
  if (near_ && caller->wish != detail::caller_wish::refresh) {
    auto const own = std::string_view(caller->key.str()).substr(options().prefix.size());
    if (auto hit = near_->find(own)) return finish(*caller, answer_of(std::move(hit)));
  }
  if (caller->wish == detail::caller_wish::load) {
    // Where there is a value to be served meanwhile, it is looked for.
    auto const flying = flights_.flying(caller->key.str());
    if (flying && !(*flights_.state(*flying))->behind_answer()) {
      cache_counters::add(counters.misses);
      return launch(std::move(caller), algo::load_guard::guarded);
    }
  }
  auto const use = trouble_.next_read(now);
  if (use == algo::store_use::ask) return looks_.add(std::move(caller));
  if (use == algo::store_use::skip_and_probe) probe(caller->key);
  skip_store(std::move(caller));
}

void cache_engine::send_look(look_group group) {
  auto const& values = values_->values();
  if (!values) {
    group.for_each([&](auto const& caller) { finish(*caller, values_->closed_failure()); });
    return;
  }
  if (is_framed(options())) {
    if (freshness_->needs_clock()) {
      auto then = [self = shared_from_this(),
                   group = std::move(group)](result<void> asked) mutable {
        // A store that hangs costs its timeout once.
        bool const hangs = asked.has_error() && asked.error() == errc::timed_out;
        if (hangs) return self->on_look(group, std::move(asked).error());
        self->send_look(std::move(group));
      };
      return freshness_->ask_clock(*values, std::move(then));
    }
    freshness_->keep_clock(*values);
    group.sent = freshness_->look_sent(group.head->key);
  }
  cache_key key = group.head->key;
  auto on_found = [self = shared_from_this(), group = std::move(group)](
                      result<cache_lookup> reply, std::optional<algo::near_entry> const& keep) {
    bool const has_tags = is_framed(self->options()) && reply.has_value() && reply->has_value() &&
                          has_extensions(**reply);
    if (!has_tags) return self->on_look(group, std::move(reply), keep);
    // Its tags may end it at any time, so it is not kept in the process.
    self->freshness_->tags().judge(**std::move(reply),
                                   [self, group](result<judged_value> said) mutable {
                                     if (said.has_error())
                                       return self->on_look(group, std::move(said).error());
                                     group.by_tags = said->verdict;
                                     self->on_look(group, cache_lookup(std::move(said->stored)));
                                   });
  };
  if (near_ && near_->keeps(key)) {
    auto on_read = [on_found = std::move(on_found)](result<near_read> got) {
      if (got.has_error()) return on_found(std::move(got).error(), std::nullopt);
      on_found(std::move(got->found), got->keep);
    };
    return near_->read(key, settings_.form, std::move(on_read));
  }
  auto on_reply = [on_found = std::move(on_found)](result<cache_lookup> reply) {
    on_found(std::move(reply), std::nullopt);
  };
  values->get(std::move(key), settings_.form, std::move(on_reply));
}

void cache_engine::on_look(look_group const& group, result<cache_lookup> reply,
                           std::optional<algo::near_entry> const& keep) {
  bool const killed = group.sent != 0 && freshness_->look_over(group.head->key, group.sent);
  if (reply.has_error()) {
    if (is_store_trouble(reply.error())) trouble_.read_failed(reply.error());
    group.for_each([&](auto const& caller) { on_look_failed(caller, reply.error()); });
    return;
  }
  trouble_.read_worked();
  // One time for all that is decided of it: an entry that was there does not end in between.
  auto const now = clock::now();
  std::optional<found_entry> found;
  std::size_t const bytes = keep && reply->has_value() ? value_bytes(**reply) : 0;
  if (reply->has_value()) found = read(**std::move(reply));
  if (found) {
    found->answer.sole = group.rest.empty();
    if (plain_times_) found->age = plain_times_->of(group.head->key, now);
    if (keep) {
      auto how = *keep;
      if (found->age) how.expires = std::min(how.expires, freshness_->fresh_until(*found->age));
      // Before anything else happens: nothing can have changed it by then.
      bool const shared = near_->insert(group.head->key, how, found->answer, bytes);
      if (shared) found->answer.sole = false;
    }
    if (found->age) {
      bool const is_gone = group.by_tags == algo::tag_verdict::gone;
      found->age->killed = killed || is_gone;
      found->age->by_tags = group.by_tags;
      return group.for_each([&](auto const& caller) { on_aged_entry(caller, *found, now); });
    }
    counters.count_hits(found->answer.kind, 1 + group.rest.size());
    if (group.rest.empty()) return finish(*group.head, std::move(found->answer));
    return group.for_each([&](auto const& caller) { finish(*caller, found->answer); });
  }
  if (lasting_) lasting_->missed(group.head->key);
  if (plain_times_) plain_times_->forget(group.head->key);
  group.for_each([&](auto const& caller) {
    if (caller->answered) return;
    bool const counts = caller->wish != detail::caller_wish::refresh;
    if (counts) cache_counters::add(counters.misses);
    if (caller->wish != detail::caller_wish::load) {
      return finish(*caller, detail::cache_answer{});
    }
    launch(caller, algo::load_guard::guarded);
  });
}

// An entry with times of its own. Whoever only looks takes a stale one for a miss.
void cache_engine::on_aged_entry(detail::caller_ptr const& caller, found_entry const& entry,
                                 clock::time_point now) {
  if (caller->answered) return;
  bool const stale = now >= entry.age->times.expires;
  bool const looks = caller->wish == detail::caller_wish::look;
  bool const by_schedule = caller->wish == detail::caller_wish::refresh;
  auto use = looks && !stale ? algo::entry_use::serve : algo::entry_use::load;
  load_purpose purpose{.refresh_below = cache_freshness::refresh_below(*entry.age),
                       .by_tags = entry.age->by_tags != algo::tag_verdict::fresh};
  bool const is_answer = !stale || !entry.age->killed;
  if (by_schedule && entry.age->by_tags == algo::tag_verdict::gone) {
    return finish(*caller, detail::cache_answer{});
  }
  if (by_schedule) {
    if (!stale) lasting_->fresh_until(caller->key, entry.age->times.expires);
    use = freshness_->use_by_schedule(caller->key, entry.age->times, now);
  } else if (!looks && is_answer) {
    use = freshness_->use_of(caller->key, entry.age->times, now);
  }
  if (use == algo::entry_use::serve_and_refresh) {
    purpose.refresh = freshness_->refresh_id();
    refresh(caller, purpose);
  } else if (use != algo::entry_use::serve) {
    cache_counters::add(counters.misses);
    if (looks) return finish(*caller, detail::cache_answer{});
    purpose.waits_softly = use == algo::entry_use::wait_softly;
    if (purpose.waits_softly) freshness_->keep(caller, entry);
    return launch(caller, algo::load_guard::guarded, purpose);
  }
  if (!by_schedule) {
    counters.count_hits(entry.answer.kind, 1);
    if (stale) cache_counters::add(counters.stale_hits);
  }
  finish(*caller, entry.answer);
}

void cache_engine::on_look_failed(detail::caller_ptr const& caller, failure const& why) {
  if (caller->answered) return;
  if (caller->wish != detail::caller_wish::load || !is_store_trouble(why)) {
    return finish(*caller, why);
  }
  cache_counters::add(counters.misses);
  launch(caller, algo::load_guard::unguarded);
}

// The store failed a moment ago (S9): whoever has a loader loads under this process' own bounds.
void cache_engine::skip_store(detail::caller_ptr caller) {
  if (caller->wish != detail::caller_wish::load) return finish(*caller, trouble_.latest());
  cache_counters::add(counters.misses);
  launch(std::move(caller), algo::load_guard::unguarded);
}

void cache_engine::probe(cache_key const& key) {
  auto const& values = values_->values();
  if (!values) return;
  auto on_reply = [self = shared_from_this()](result<cache_lookup> reply) {
    if (reply.has_error() && is_store_trouble(reply.error())) {
      self->trouble_.read_failed(reply.error());
    } else {
      self->trouble_.read_worked();
    }
  };
  values->get(key, settings_.form, std::move(on_reply));
}

// ----------------------------------------------------------------------------- the flights

void cache_engine::launch(detail::caller_ptr caller, algo::load_guard guard, load_purpose purpose) {
  if (caller->answered) return;
  if (closed_) return finish(*caller, values_->closed_failure());
  bool const claims = guard == algo::load_guard::guarded && !flights_.flying(caller->key.str());
  auto const use = claims ? trouble_.next_claim(clock::now()) : algo::store_use::ask;
  // Claims failed a moment ago: loads are unguarded until one of them has claimed again.
  bool const probe = use == algo::store_use::skip_and_probe;
  if (use == algo::store_use::skip) {
    if (purpose.is_refresh()) return;
    guard = algo::load_guard::unguarded;
  }
  bool const refreshes = purpose.is_refresh();
  auto const* const known =
      answers_kept_.find(caller->key, probe && !refreshes ? algo::load_guard::unguarded : guard);
  if (known) {
    if (probe) trouble_.claim_probe_over();
    if (refreshes) return;
    cache_counters::add(counters.joined);
    return finish(*caller, best_of(freshness_.get(), *caller, *known));
  }
  auto const reply = flights_.join(caller->key.str(), detail::caller_ptr(caller));
  if (!reply.accepted()) {
    if (probe) trouble_.claim_probe_over();
    if (refreshes) return;
    auto end =
        best_of(freshness_.get(), *caller,
                make_failure(errc::overloaded, "too many loads of the cache in " +
                                                   values_->display_name() + " (max_waiting)"));
    if (end.has_error()) cache_counters::add(counters.overloaded);
    return finish(*caller, std::move(end));
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
  purpose.probes_claims = probe;
  flight = std::make_shared<load_flight>(shared_from_this(), reply.ticket.flight, caller, purpose);
  auto const started = flight;
  live_.emplace(started->key().str(), started.get());
  started->start(guard);
}

// The caller's loader runs behind its answer, unless somebody is at it, or claims cannot be had.
void cache_engine::refresh(detail::caller_ptr const& caller, load_purpose purpose) {
  cache_counters::add(counters.refreshes);
  if (!flights_.flying(caller->key.str())) launch(caller, algo::load_guard::guarded, purpose);
  if (caller->leads) return leave_flight(*caller);
  cache_counters::add(counters.refused_refreshes);
  freshness_->refresh_ended(caller->key, purpose.refresh);
}

algo::load_settings cache_engine::load_settings(load_purpose const& purpose) const {
  bool const pushed = !over_locks_ && values_->traits().pushes_fills;
  return {.claim_ttl = options().claim_ttl,
          .max_load_time = options().max_load_time,
          .waiting = pushed ? algo::load_waiting::watch : algo::load_waiting::back_off,
          .behind_answer = purpose.behind_answer()};
}

cache_store* cache_engine::claims() const {
  return over_locks_ ? over_locks_.get() : values_->values().get();
}

algo::slot_queue<std::shared_ptr<load_flight>>& cache_engine::slots(algo::load_guard guard) {
  return guard == algo::load_guard::guarded ? slots_.guarded : slots_.unguarded;
}

void cache_engine::free_slot(algo::load_guard guard) {
  if (closed_) return;  // whoever queues is being closed, too
  if (auto next = slots(guard).give_back()) (*next)->slot_granted();
}

void cache_engine::answer(algo::flight_id id, result<detail::cache_answer> const& answer) {
  auto const joiners = flights_.finish(id);
  auto* const aged = closed_ ? nullptr : freshness_.get();
  for (auto const& caller : joiners) finish(*caller, best_of(aged, *caller, answer));
}

void cache_engine::forget(algo::flight_id id) {
  for (auto const& caller : flights_.finish(id)) finish(*caller, values_->closed_failure());
}

std::optional<found_entry> cache_engine::read(cache_value stored) {
  found_entry entry;
  // What the other format keeps is none of ours.
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
  return std::nullopt;
}

}  // namespace herdlock::runtime
