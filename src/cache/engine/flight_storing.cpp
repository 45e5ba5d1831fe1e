// A flight that holds a claim: renews it, stores what was loaded, and gives it back.
#include "cache/engine/flight.hpp"

namespace herdlock::runtime {

void load_flight::extend(load_services& home, cache_store& claims) {
  auto on_reply = [self = shared_from_this()](result<renew_reply> const& reply) {
    auto const board = self->home_.lock();
    if (!board) return;
    if (reply.has_error()) {
      auto const& why = reply.error();
      auto& trouble = board->services().home->trouble;
      if (is_store_trouble(why)) trouble.failed(algo::store_step::extend, why);
      return self->apply(algo::extend_answered::failed);
    }
    if (*reply == renew_reply::renewed) return self->apply(algo::extend_answered::renewed);
    // A put or invalidate of another process, most likely: its call looks again, as for ours.
    self->apply(algo::extend_answered::lost, algo::stop_reason::voided);
  };
  claims.extend(key_, owner_, home.home->options.claim_ttl, std::move(on_reply));
}

void load_flight::fill(load_services& home, cache_store& claims) {
  auto& end = said_.end;
  auto const ttl = home.home->ttl_of(*end.outcome.encoded, end.outcome.decided.ttl);
  fill_request request{key_, owner_, *std::move(end.outcome.encoded), ttl};
  auto write = home.keys->loads.storing(request, clock::now() - end.began, end.extensions);
  auto on_reply =
      [self = shared_from_this(), write = std::move(write),
       bracket = give_back_bracket(*home.home->store)](result<fill_reply> const& reply) mutable {
        write = nullptr;
        self->on_stored(reply);
      };
  claims.fill(std::move(request), std::move(on_reply));
}

void load_flight::end_claim(load_services& home, cache_store& claims, shared_failure what) {
  auto on_reply = [self = shared_from_this(),
                   bracket = std::make_shared<give_back_bracket>(*home.home->store)](
                      result<fill_reply> const& reply) {
    auto const board = self->home_.lock();
    auto* const values = board ? board->services().claims.store() : nullptr;
    auto const& end = self->said_.end;
    bool const is_refresh = end.refresh_below != milliseconds{0};
    bool const was_ours = reply.has_value() && *reply == fill_reply::stored;
    bool const has_loaded = end.outcome.answer.kind != detail::entry_kind::miss;
    bool const has_tags = end.extensions.has_value();  // else the entry is still good
    bool const is_old = has_tags || self->purpose_.now;
    bool const goes = was_ours && has_loaded && is_refresh && is_old;
    if (!values || !goes) return self->on_stored(reply);
    // Else the old value would be served for as long as its grace lasts.
    board->services().keys->loads.remove(*values, self->key_,
                                         [self, bracket, reply] { self->on_stored(reply); });
  };
  claims.fail(key_, owner_, std::move(what.text), what.back_off, std::move(on_reply));
}

void load_flight::on_stored(result<fill_reply> const& reply) {
  auto const board = home_.lock();
  if (!board) return;
  auto& home = board->services();
  auto& loads = home.keys->loads;
  auto& trouble = home.home->trouble;
  bool const fills = machine_.filling();
  bool const is_stored = reply.has_value() && *reply == fill_reply::stored;
  loads.store_ended(key_, said_.admission, is_stored ? store_end::stored : store_end::refused);
  if (reply.has_error()) {
    // The callers have their value, whatever the store thinks of it.
    if (reply.error() == errc::invalid_value && fills) {
      auto* const values = home.claims.store();
      bool const replaces = said_.end.refresh_below != milliseconds{0};
      if (values && replaces) loads.remove(*values, key_, [] {});
      loads.untaken(key_, said_.end, key_loads::untaken_by::value);
    } else if (reply.error() != errc::canceled) {
      trouble.failed(fills ? algo::store_step::fill : algo::store_step::end, reply.error());
      if (fills) loads.untaken(key_, said_.end, key_loads::untaken_by::store);
    }
    return apply(algo::store_answered::failed);
  }
  // The end of a claim may be another store's.
  if (fills ? is_stored : home.claims.is_value_store()) trouble.write_worked();
  if (is_stored && fills) {
    trouble.claims_worked();
    home.keys->unstored().taken(key_);
  }
  if (*reply == fill_reply::superseded && fills) {
    cache_counters::add(home.home->counters.superseded);
  }
  apply(algo::store_answered::replied);
}

}  // namespace herdlock::runtime
