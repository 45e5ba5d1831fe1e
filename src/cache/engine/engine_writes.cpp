// put, invalidate and expire, and what they and a fence do to the loads that are running.
#include "cache/engine/engine.hpp"

#include <algorithm>

#include "cache/engine/claim_clean_up.hpp"
#include "cache/engine/over_locks.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {

void cache_engine::unlist(load_flight& flight) {
  auto [at, end] = live_.equal_range(flight.key().str());
  while (at != end && at->second != &flight) ++at;
  if (at != end) live_.erase(at);
}

// Loads that nobody can join any more, too: they may have a claim, and store what they load.
void cache_engine::void_loads(cache_key const& key, voiding how) {
  if (freshness_) freshness_->voided(key, how);
  if (plain_times_) plain_times_->forget(key);
  flights_.detach(key.str());
  unstored_.erase(key);
  std::vector<std::shared_ptr<load_flight>> flights;
  for (auto [at, end] = live_.equal_range(key.str()); at != end; ++at) {
    if (auto flight = at->second->weak_from_this().lock()) flights.push_back(std::move(flight));
  }
  for (auto const& flight : flights) {
    // A lock store knows nothing of put and invalidate: the lock is given back here.
    if (flight->voided() && over_locks_) give_up_claim(key, flight->owner());
  }
  if (over_locks_) over_locks_->void_fills(key);
}

// The loads are voided before and after: one that began in between may have been answered by the
// store before it carried this out, and whoever comes after the completion must not join it.
// `send` gets the store, and what the store's answer goes to.
template <class Reply, class Send>
void cache_engine::write(cache_key const& key, voiding how, handler<Reply> done, Send&& send) {
  void_loads(key, how);
  if (local_.hot) local_.hot->wrote(without_prefix(key, options()));
  auto const at_work = std::make_shared<near_write>(local_.near, key);
  auto const& values = values_->values();
  if (!values) {
    return detail::post_result<Reply>(values_->executor(), std::move(done),
                                      values_->closed_failure());
  }
  send(*values, [self = shared_from_this(), at_work, key, how,
                 done = std::move(done)](result<Reply> reply) mutable {
    if (reply.has_error()) {
      cache_counters::add(self->counters.store_errors);
    } else {
      self->trouble_.write_worked();
    }
    self->void_loads(key, how);
    at_work->end();
    detail::dispatch_result(self->values_->executor(), std::move(done), std::move(reply));
  });
}

milliseconds cache_engine::ttl_of(cache_value const& value) const {
  auto const base = std::holds_alternative<absent>(value) ? options().negative_ttl : options().ttl;
  double const share = 1.0 + options().ttl_jitter * (2 * random_unit() - 1);
  auto const varied = milliseconds(static_cast<std::int64_t>(double(base.count()) * share));
  return std::clamp(varied, limits::min_ttl, limits::max_ttl);
}

void cache_engine::put(put_request request, handler<void> done) {
  auto const key = request.key;
  if (lasting_ && !closed_) {
    auto mine = lasting_->admit(key, request.value);
    if (mine.why.code) {
      return detail::post_result<void>(values_->executor(), std::move(done), std::move(mine.why));
    }
    done = [self = shared_from_this(), key, mine = std::move(mine),
            done = std::move(done)](result<void> reply) mutable {
      auto const how = reply.has_error() ? store_end::refused : store_end::stored;
      self->lasting_->store_ended(key, mine, how);
      std::move(done)(std::move(reply));
    };
  }
  write<void>(key, voiding::ends_copies, std::move(done),
              [&](cache_store& values, handler<void> on_reply) {
                if (!is_framed(options()))
                  return values.put(std::move(request), std::move(on_reply));
                freshness_->put_framed(values, std::move(request), std::move(on_reply));
              });
}

void cache_engine::invalidate(cache_key key, handler<bool> done) {
  if (lasting_) lasting_->gone(key);
  write<bool>(key, voiding::ends_copies, std::move(done),
              [&](cache_store& values, handler<bool> on_reply) {
                values.invalidate(key, std::move(on_reply));
              });
}

void cache_engine::expire_entry(cache_key key, handler<bool> done) {
  if (lasting_ && options().freshness.grace == milliseconds{0}) lasting_->gone(key);
  write<bool>(key, voiding::keeps_copies, std::move(done),
              [&](cache_store& values, handler<bool> on_reply) {
                values.expire(key, options().freshness.grace, std::move(on_reply));
              });
}

void cache_engine::fence() {
  flights_.fence();
  unstored_.fence();
  if (freshness_) freshness_->tags().fence();
}

void cache_engine::give_up_claim(cache_key key, owner_token owner) {
  std::shared_ptr<cache_store> over = over_locks_;
  claim_request claim{std::move(key), std::move(owner), options().claim_ttl, form()};
  start_claim_clean_up(values_, std::move(over), claim);
}

}  // namespace herdlock::runtime
