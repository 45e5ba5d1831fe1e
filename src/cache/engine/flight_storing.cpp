// A flight that holds a claim: renews it, stores what was loaded, and gives it back.
#include "cache/engine/claim_clean_up.hpp"
#include "cache/engine/engine.hpp"
#include "cache/engine/flight.hpp"
#include "cache/engine/load_results.hpp"

namespace herdlock::runtime {

void load_flight::extend(cache_engine& home, cache_store& claims) {
  auto on_reply = [self = shared_from_this()](result<renew_reply> const& reply) {
    auto const engine = self->home_.lock();
    if (!engine) return;
    auto& machine = self->machine_;
    if (reply.has_error()) {
      auto const& why = reply.error();
      if (is_store_trouble(why)) engine->trouble().failed(algo::store_step::extend, why);
      return self->apply(machine.extend_failed(clock::now()));
    }
    if (*reply == renew_reply::renewed) return self->apply(machine.extend_renewed());
    // A put or invalidate of another process, most likely: its call looks again, as for ours.
    self->apply(machine.extend_lost(), algo::stop_reason::voided);
  };
  claims.extend(key_, owner_, home.options().claim_ttl, std::move(on_reply));
}

void load_flight::fill(cache_engine& home, cache_store& claims) {
  auto ttl = home.ttl_of(*said_.outcome.encoded);
  fill_request request{key_, owner_, *std::move(said_.outcome.encoded), ttl};
  auto const load_time = clock::now() - load_began_;
  if (is_framed(home.options())) {
    home.freshness()->frame(request.value, request.ttl, load_time, *std::move(said_.extensions));
  }
  if (home.plain_times()) home.plain_times()->stored(key_, request.ttl, load_time);
  if (home.lasting()) home.lasting()->fresh_until(key_, clock::now() + ttl);
  if (home.local().hot) home.local().hot->filled(without_prefix(key_, home.options()));
  auto const write = std::make_shared<near_write>(home.local().near, key_);
  auto on_reply = [self = shared_from_this(), write,
                   bracket = give_back_bracket(home.home())](result<fill_reply> const& reply) {
    write->end();
    self->on_stored(reply);
  };
  claims.fill(std::move(request), std::move(on_reply));
}

void load_flight::end_claim(cache_engine& home, cache_store& claims, shared_failure what) {
  auto on_reply = [self = shared_from_this(), bracket = std::make_shared<give_back_bracket>(
                                                  home.home())](result<fill_reply> const& reply) {
    auto const still = self->home_.lock();
    auto* const values = still ? still->claims() : nullptr;
    bool const is_refresh = self->purpose_.refresh_below != milliseconds{0};
    bool const was_ours = reply.has_value() && *reply == fill_reply::stored;
    bool const has_loaded = self->said_.outcome.answer.kind != detail::entry_kind::miss;
    bool const has_tags = self->said_.extensions.has_value();  // else the entry is still good
    bool const goes = was_ours && has_loaded && is_refresh && has_tags;
    if (!values || !goes) return self->on_stored(reply);
    // Else the old value would be served for as long as its grace lasts.
    if (still->lasting()) still->lasting()->gone(self->key_);
    remove_entry(still->local().near, *values, self->key_,
                 [self, bracket, reply] { self->on_stored(reply); });
  };
  claims.fail(key_, owner_, std::move(what.text), what.back_off, std::move(on_reply));
}

void load_flight::on_stored(result<fill_reply> const& reply) {
  auto const home = home_.lock();
  if (!home) return;
  bool const is_stored = reply.has_value() && *reply == fill_reply::stored;
  if (home->plain_times() && !is_stored) home->plain_times()->forget(key_);
  if (home->lasting()) {
    auto const how = is_stored ? store_end::stored : store_end::refused;
    home->lasting()->store_ended(key_, said_.admission, how);
  }
  if (reply.has_error()) {
    // The callers have their value, whatever the store thinks of it.
    if (reply.error() == errc::invalid_value && machine_.filling()) {
      auto* const values = purpose_.refresh_below != milliseconds{0} ? home->claims() : nullptr;
      if (values) remove_entry(home->local().near, *values, key_, [] {});
      cache_counters::add(home->counters.unstorable);
      if (!outdated_) {
        home->unstored().add_unstorable(key_, {said_.outcome.answer, said_.bytes}, load_began_);
      }
    } else if (reply.error() != errc::canceled) {
      bool const fills = machine_.filling();
      home->trouble().failed(fills ? algo::store_step::fill : algo::store_step::end, reply.error());
      if (fills && !outdated_)
        home->unstored().add_untaken(key_, {said_.outcome.answer, said_.bytes}, load_began_);
    }
    return apply(machine_.store_failed());
  }
  // The end of a claim may be another store's.
  if (machine_.filling() ? is_stored : !home->over_locks()) home->trouble().write_worked();
  if (is_stored && machine_.filling()) {
    home->trouble().claims_worked();
    home->unstored().taken(key_);
  }
  if (*reply == fill_reply::superseded && machine_.filling()) {
    cache_counters::add(home->counters.superseded);
  }
  apply(machine_.store_replied());
}

}  // namespace herdlock::runtime
