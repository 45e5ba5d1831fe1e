#include "cache/engine/engine.hpp"

#include <utility>

#include "runtime/fitted_ttl.hpp"

namespace herdlock::runtime {
namespace {

// The call for a lasting entry whose refresh is due. Nobody waits for it.
class scheduled_call final : public detail::cache_caller {
 public:
  explicit scheduled_call(cache_key full_key)
      : cache_caller(std::move(full_key), detail::caller_wish::refresh,
                     detail::loader_from::cache) {}
  void complete(result<detail::cache_answer>) override {}
  bool start_load(load_context, detail::load_sink) override { return false; }
  void abandon() override {}
};

}  // namespace

std::shared_ptr<cache_engine> cache_engine::make(std::shared_ptr<store_core> values,
                                                 std::shared_ptr<store_core> locks,
                                                 engine_settings settings) {
  auto& options = settings.options;
  auto const where = locks ? claims_in::lock_store : claims_in::value_store;
  std::shared_ptr<cache_over_locks> over_locks;
  if (locks) {
    options.claim_ttl = fitted_ttl(locks->traits(), options.claim_ttl);
    over_locks = std::make_shared<cache_over_locks>(values, std::move(locks), options.claim_ttl);
  }
  auto const home = std::make_shared<cache_home>(values, std::move(settings.context),
                                                 std::move(options), settings.form, where);
  auto keys = cache_keys::make(home, settings.near, settings.decode);
  auto const whose = settings.owned ? detail::loader_from::cache : detail::loader_from::call;
  auto callers = std::make_shared<cache_callers>(home, keys, whose);
  std::shared_ptr<cache_engine> made(new cache_engine(home, keys, std::move(callers)));
  load_services services{
      .home = home,
      .keys = keys,
      .claims = claim_place(values, std::move(over_locks)),
      .owned = std::move(settings.owned),
      .where = {std::move(settings.pool), std::make_shared<posting_gate>(values->executor())},
      .slots = load_slots(home->options.bounds)};
  auto look_again = [weak = std::weak_ptr(made)](detail::caller_ptr caller) {
    if (auto const engine = weak.lock()) engine->look_again(std::move(caller));
  };
  made->flights_ =
      std::make_shared<cache_flights>(std::move(services), made->callers_, std::move(look_again));
  made->services_ = &made->flights_->services();
  keys->open({.end_softly =
                  [weak = std::weak_ptr(made)](detail::cache_caller& caller, auto answer) {
                    auto const engine = weak.lock();
                    if (engine) engine->callers_->end(caller, std::move(answer));
                  },
              .refresh =
                  [weak = std::weak_ptr(made)](cache_key const& key) {
                    auto const engine = weak.lock();
                    if (!engine) return;
                    detail::caller_ptr call = std::make_shared<scheduled_call>(key);
                    engine->submit({&call, 1});
                  }});
  return made;
}

cache_engine::cache_engine(home_ptr home, std::shared_ptr<cache_keys> keys, callers_ptr callers)
    : home_(std::move(home)),
      keys_(std::move(keys)),
      callers_(std::move(callers)),
      looks_(keys_->table()) {}

cache_engine::~cache_engine() {
  if (services_) services_->where.back->shut();
  // Those that are left may have the last hold of a caller.
  callers_->drop_all();
}

void cache_engine::on_closing() {
  if (callers_->closed()) return;
  callers_->close();
  keys_->close();
  flights_->close();
  callers_->end_all();
  // The outcome of a loader goes to its call alone from now on.
  services_->where.back->shut();
}

// -------------------------------------------------------------------------- callers come

void cache_engine::submit(std::span<detail::caller_ptr> callers) {
  auto const executor = home_->store->executor();
  if (arrivals_.add(callers, home_->options.bounds.max_waiting)) {
    asio::post(executor, [self = shared_from_this()] { self->drain(); });
  }
  for (auto& caller : callers) {
    asio::post(executor, [self = shared_from_this(), caller = std::move(caller)] {
      if (!caller->answered) self->turn_away(*caller);
    });
  }
}

void cache_engine::turn_away(detail::cache_caller& caller) {
  cache_counters::add(home_->counters.overloaded);
  callers_->finish(caller, make_failure(errc::overloaded,
                                        "cache in " + home_->store->display_name() + ": " +
                                            std::to_string(home_->options.bounds.max_waiting) +
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
  asio::post(home_->store->executor(), [self = shared_from_this()] { self->drain(); });
}

void cache_engine::accept(detail::caller_ptr caller, clock::time_point now) {
  if (caller->answered) return;  // cancelled before its turn
  bool const has_room = callers_->add(*caller, now);
  if (callers_->closed()) return callers_->finish(*caller, home_->store->closed_failure());
  if (!has_room) return turn_away(*caller);
  if (loads_now(*caller)) {
    cache_counters::add(home_->counters.loads_now);
  } else if (caller->wish != detail::caller_wish::refresh) {
    auto hit = keys_->reads.looked(*caller, now);
    if (hit) return callers_->finish(*caller, answer_of(std::move(hit)));
  }
  look_for(std::move(caller), now);
}

void cache_engine::look_for(detail::caller_ptr caller, clock::time_point now) {
  if (caller->answered) return;
  if (callers_->closed()) return callers_->finish(*caller, home_->store->closed_failure());
  // If there may be a value to be served meanwhile, it is looked for.
  if (caller->wish == detail::caller_wish::load && flights_->are_awaited(caller->key)) {
    count_miss(*caller, home_->counters);
    return flights_->launch(std::move(caller), algo::load_guard::guarded);
  }
  auto const use = home_->trouble.next_read(now);
  if (use == algo::store_use::ask) return looks_.add(std::move(caller));
  if (use == algo::store_use::skip_and_probe) probe(caller->key);
  do_without_store(caller, home_->trouble.latest());
}

// --------------------------------------------------------------------------------- looks

void cache_engine::send_look(look_group group) {
  if (!home_->store->values()) {
    looks_.ended();
    return group.for_each(
        [&](auto const& caller) { callers_->finish(*caller, home_->store->closed_failure()); });
  }
  auto const how = group.rest.empty() ? key_reads::sharing::one : key_reads::sharing::several;
  auto const key = group.head->key;
  auto on_reply = [self = shared_from_this(), group = std::move(group)](result<found_or_not> got) {
    self->on_look(group, std::move(got));
  };
  keys_->reads.read(key, how, std::move(on_reply));
}

void cache_engine::on_look(look_group const& group, result<found_or_not> got) {
  auto& trouble = home_->trouble;
  bool const in_trouble = got.has_error() && is_store_trouble(got.error());
  if (in_trouble) trouble.failed(algo::store_step::read, got.error());
  if (got.has_value()) trouble.read_worked();
  if (looks_.ended()) {
    // A store that hangs costs its timeout once, however many wait.
    looks_.send_some([&](look_group next) {
      if (!trouble.reads_fail()) return send_look(std::move(next));
      looks_.ended();
      next.for_each([&](auto const& caller) { do_without_store(caller, trouble.latest()); });
    });
  }
  if (got.has_error()) {
    auto const& why = got.error();
    return group.for_each([&](auto const& caller) {
      if (in_trouble) return do_without_store(caller, why);
      callers_->finish(*caller, why);
    });
  }
  if (!*got) return group.for_each([&](auto const& caller) { on_missed(caller); });
  // One time for all decisions: an entry that was there does not end in between.
  auto const now = clock::now();
  if (group.rest.empty()) return on_found(group.head, **std::move(got), now);
  group.for_each([&](auto const& caller) { on_found(caller, **got, now); });
}

void cache_engine::on_missed(detail::caller_ptr const& caller) {
  if (caller->answered) return;
  if (caller->wish != detail::caller_wish::refresh) count_miss(*caller, home_->counters);
  bool const loads = caller->wish == detail::caller_wish::load || loads_now(*caller);
  if (!loads) return callers_->finish(*caller, detail::cache_answer{});
  flights_->launch(caller, algo::load_guard::guarded);
}

void cache_engine::on_found(detail::caller_ptr const& caller, found_entry entry,
                            clock::time_point now) {
  if (caller->answered) return;
  auto [use, purpose] = keys_->reads.use_of(*caller, entry, now);
  bool waits = false;
  if (use == algo::entry_use::serve_and_refresh) {
    // Nothing that a call was given is used behind its answer: without a loader of the cache's own
    // this call waits for its load, with the value at hand.
    purpose.caller_waits = !services_->owned;
    if (purpose.caller_waits) keys_->copies().keep(*caller, entry);
    waits = flights_->refresh(caller, purpose);
  } else if (use != algo::entry_use::serve) {
    count_miss(*caller, home_->counters);
    if (is_look(*caller)) {
      return callers_->finish(*caller, detail::cache_answer{});
    }
    if (purpose.waits_softly) keys_->copies().keep_softly(*caller, entry);
    return flights_->launch(caller, algo::load_guard::guarded, purpose);
  }
  if (caller->wish != detail::caller_wish::refresh && !caller->missed) {
    bool const stale = entry.stale(now);
    home_->counters.count_hits(entry.answer.kind, 1);
    if (stale) cache_counters::add(home_->counters.stale_hits);
    home_->counters.tell(stale ? cache_outcome::stale : cache_outcome::hit, caller->key);
  }
  if (!waits) callers_->finish(*caller, std::move(entry.answer));
}

// The store failed, or did so a moment ago (S9): whoever has a loader loads under this process' own
// bounds. A call that was let through although a value is kept has that (near_look::first).
void cache_engine::do_without_store(detail::caller_ptr const& caller, failure const& why) {
  if (caller->answered) return;
  if (loads_now(*caller)) return flights_->launch(caller, algo::load_guard::unguarded);
  if (caller->wish != detail::caller_wish::load) return callers_->finish(*caller, why);
  auto hit = keys_->reads.kept_for(*caller, detail::near_look::any);
  if (hit) return callers_->finish(*caller, answer_of(std::move(hit)));
  count_miss(*caller, home_->counters);
  flights_->launch(caller, algo::load_guard::unguarded);
}

void cache_engine::probe(cache_key const& key) {
  auto const& values = home_->store->values();
  if (!values) return;
  auto on_reply = [home = home_](result<cache_lookup> reply) {
    auto& trouble = home->trouble;
    if (reply.has_value()) return trouble.read_worked();
    auto const& why = reply.error();
    auto const scope = is_store_trouble(why) ? trouble.failed(algo::store_step::read, why)
                                             : algo::trouble_scope::none;
    // At a bound of our own nothing was asked. Else who refuses one key answers.
    if (why == errc::overloaded) return trouble.read_probe_over();
    if (scope != algo::trouble_scope::reads) trouble.read_worked();
  };
  values->get(key, home_->form, std::move(on_reply));
}

// --------------------------------------------------------------------------------- writes

template <class Reply>
void cache_engine::count(result<Reply> const& reply) {
  if (reply.has_error()) return cache_counters::add(home_->counters.store_errors);
  home_->trouble.write_worked();
}

// The loads are voided before and after: one that began in between may have been answered by the
// store before it carried this out, and whoever comes after the completion must not join it.
// `send` gets what the store's answer goes to.
template <class Reply, class Send>
void cache_engine::write(cache_key const& key, voiding how, handler<Reply> done, Send&& send) {
  flights_->voided(key, how);
  auto const executor = home_->store->executor();
  if (!home_->store->values()) {
    return detail::post_result<Reply>(executor, std::move(done), home_->store->closed_failure());
  }
  send([self = shared_from_this(), key, how, done = std::move(done),
        executor](result<Reply> reply) mutable {
    self->count(reply);
    self->flights_->voided(key, how);
    detail::dispatch_result(executor, std::move(done), std::move(reply));
  });
}

void cache_engine::put(put_request request, handler<void> done) {
  failure why = keys_->writes.admit(request, done);
  if (why.code) {
    return detail::post_result<void>(home_->store->executor(), std::move(done), std::move(why));
  }
  auto const key = request.key;
  write<void>(key, voiding::ends_copies, std::move(done), [&](handler<void> on_reply) {
    keys_->writes.put(std::move(request), std::move(on_reply));
  });
}

void cache_engine::invalidate(cache_key key, handler<bool> done) {
  write<bool>(key, voiding::ends_copies, std::move(done),
              [&](handler<bool> on_reply) { keys_->writes.invalidate(key, std::move(on_reply)); });
}

void cache_engine::expire(cache_key key, handler<bool> done) {
  write<bool>(key, voiding::keeps_copies, std::move(done),
              [&](handler<bool> on_reply) { keys_->writes.expire(key, std::move(on_reply)); });
}

void cache_engine::end_tag(tag_end const& what, handler<void> done) {
  auto const executor = home_->store->executor();
  // Before and after, as for a key: what began in between may have read the record before its end.
  auto claims = flights_->tag_ended(what.tag, what.how);
  if (!home_->store->values()) {
    return detail::post_result<void>(executor, std::move(done), home_->store->closed_failure());
  }
  auto on_reply = [self = shared_from_this(), tag = what.tag, how = what.how,
                   claims = std::move(claims), executor,
                   done = std::move(done)](result<bool> const& reply) mutable {
    self->count(reply);
    // Not before: whoever claims then finds the tag's record as it is now.
    for (auto& [key, owner] : claims) self->services_->give_up_claim(key, owner);
    for (auto& [key, owner] : self->flights_->tag_ended(tag, how)) {
      self->services_->give_up_claim(key, owner);
    }
    result<void> said = boost::system::in_place_value;
    if (reply.has_error()) said = reply.error();
    detail::dispatch_result(executor, std::move(done), std::move(said));
  };
  keys_->writes.end_tag(what, std::move(on_reply));
}

void cache_engine::fence() {
  flights_->fence();
  keys_->writes.fence();
}

}  // namespace herdlock::runtime
