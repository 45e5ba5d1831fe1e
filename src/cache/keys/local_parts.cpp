#include "cache/keys/local_parts.hpp"

#include "cache/fleet/keep.hpp"

namespace herdlock::runtime {
namespace {

fleet_settings fleet_of(cache_home& home) {
  auto const& options = home.options;
  auto const& hot = *options.hot.keys;
  return {
      .prefix = options.prefix,
      .thresholds = {.threshold = static_cast<std::uint64_t>(options.hot.fleet_threshold),
                     .reads_per_write = hot.reads_per_write,
                     // A sum is of the window before it: so what nobody reads is cool within two.
                     .cool_time = hot.window * 3 / 4,
                     .silence = report_store::keeps_for,
                     .most_hot = hot.max_hot},
      .context = home.context,
      .counters = home.counters};
}

}  // namespace

local_parts::local_parts(home_ptr const& home, near_cache mode) {
  auto const& [store, options, counters] = std::tie(home->store, home->options, home->counters);
  if (options.hot.keys) hot_ = std::make_shared<cache_hot>(store, *options.hot.keys);
  bool const tells = options.hot.fleet_threshold > 0 && store->reports();
  if (hot_ && tells) hot_->join(fleet_of(*home));
  if (options.hot.rules == key_rules::on) {
    rules_ = std::make_shared<cache_rules>(store, counters, options.prefix);
  }
  if (hot_ && rules_) {
    hot_->keep_entries(std::make_shared<cache_keep>(store, counters, options.prefix, rules_));
  }
  if (mode != near_cache::off && store->pushes_changes()) {
    near_ = std::make_shared<cache_near>(
        store, counters, options, mode,
        key_sources{or_none<key_heat>(hot_), or_none<rules_of_keys>(rules_)});
  }
  events_ = counters.events;
  if (!events_) unwatched_ = near_.get();
}

detail::near_hit local_parts::find_and_tell(std::string_view own_key,
                                            detail::near_look who) const noexcept {
  auto hit = near_->find(own_key, who);
  if (hit) events_->tell_own(cache_outcome::near_hit, own_key);
  return hit;
}

void local_parts::add_counts(milliseconds max_staleness, cache_stats& into) const {
  if (near_) runtime::add_counts(near_->table(), max_staleness, into);
  if (hot_) hot_->add_counts(into);
}

void local_parts::close() const {
  if (hot_) hot_->close();
  if (rules_) rules_->close();
  if (near_) near_->close();
}

void local_parts::looked(std::string_view own_key, clock::time_point now) const {
  if (rules_) rules_->open();
  if (hot_) hot_->read(own_key, now);
}

void local_parts::read(cache_store& values, cache_key const& key, layout form,
                       std::function<void(result<near_read>)> done) const {
  if (near_ && near_->keeps(key)) return near_->read(key, form, std::move(done));
  values.get(key, form, [done = std::move(done)](result<cache_lookup> reply) {
    if (reply.has_error()) return done(std::move(reply).error());
    done(near_read{*std::move(reply), std::nullopt});
  });
}

std::shared_ptr<near_write> local_parts::write(cache_key const& key,
                                               std::string_view own_key) const {
  if (hot_) hot_->wrote(own_key);
  return write_apart(key);
}

std::shared_ptr<near_write> local_parts::fill(cache_key const& key,
                                              std::string_view own_key) const {
  if (hot_) hot_->filled(own_key);
  return write_apart(key);
}

std::shared_ptr<near_write> local_parts::write_apart(cache_key const& key) const {
  return near_ ? std::make_shared<near_write>(near_, key) : nullptr;
}

void local_parts::remove(cache_store& values, cache_key const& key,
                         std::function<void(failure const&)> then) const {
  values.invalidate(
      key, [write = write_apart(key), then = std::move(then)](result<bool> const& reply) mutable {
        write = nullptr;
        then(reply.has_error() ? reply.error() : failure{});
      });
}

void local_parts::fence(asio::any_io_executor const& executor, handler<void> done) const {
  if (near_) return near_->fence(std::move(done));
  detail::post_result<void>(executor, std::move(done), boost::system::in_place_value);
}

}  // namespace herdlock::runtime
