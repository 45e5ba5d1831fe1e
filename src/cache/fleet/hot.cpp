#include "cache/fleet/hot.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::runtime {

cache_hot::cache_hot(std::shared_ptr<store_core> home, hot_keys_options options)
    : home_(std::move(home)),
      options_(std::move(options)),
      core_(std::make_shared<detail::hot_keys_core>(
          options_, most_shards,
          [this](algo::hot_change const& change) {
            auto const how = algo::hot_by::our_count;
            bool const hot = change.what == algo::hot_change::kind::hot;
            if (hot) return becomes_hot(*change.key, change.hash, how);
            cools(*change.key, change.hash, how);
          })),
      places_(options_.max_hot) {}

void cache_hot::join(fleet_settings settings) {
  // The fleet goes with this.
  fleet_ = std::make_shared<cache_fleet>(
      home_, std::move(settings), [this](algo::fleet_change const& change) {
        auto const how = algo::hot_by::fleet;
        auto const hash = core_->counter().id_of(change.key).hash;
        auto const core = core_;  // a callback may destroy this
        try {
          bool const hot = change.what == algo::fleet_change::kind::hot;
          if (hot) return becomes_hot(change.key, hash, how, change.low);
          cools(change.key, hash, how);
        } catch (...) {
          core->count_failed_callback();
        }
      });
}

void cache_hot::keep_by(hot_keeper near) {
  if (closed_) return;
  near_ = std::move(near);
}

void cache_hot::wrote(std::string_view key) {
  used(key, {0, 1}, clock::now());
  filled(key);
}

void cache_hot::filled(std::string_view key) {
  if (auto* const here = find(key)) here->awaits_push = true;
}

void cache_hot::changed(std::string_view key) {
  auto* const here = find(key);
  if (!here) return;
  here->tries.changed();
  if (!std::exchange(here->awaits_push, false)) used(key, {0, 1}, clock::now());
}

void cache_hot::used(std::string_view key, algo::hot_uses uses, clock::time_point now) {
  if (closed_) return;
  core_->counter().used(key, uses);
  if (now < next_tick_) return;
  next_tick_ = now + tick;
  // Callbacks are in an event of their own.
  asio::post(home_->executor(), [weak = weak_from_this()] {
    if (auto const self = weak.lock()) self->on_due(clock::now());
  });
}

void cache_hot::on_due(clock::time_point now) {
  if (closed_) return;
  auto const keep = shared_from_this();
  auto const core = core_;  // a tick whose core nobody else has tells nothing
  next_tick_ = now + tick;
  detail::hot_keys_core::tick(core, now);
  if (!closed_) fleet_->tick(now, *core_, near_.keeps);
  fill_free_places();
  if (closed_) return;
  // A key that nobody reads any more cools.
  if (!hot_.empty()) return home_->timers().schedule(*this, next_tick_);
  if (!near_.on_hot) return;
  pause_ = core_->is_used() ? tick : std::min(2 * pause_, slow_tick);
  home_->timers().schedule(*this, now + (core_->known() != 0 ? pause_ : slow_tick));
}

void cache_hot::becomes_hot(std::string const& key, std::uint64_t hash, algo::hot_by how,
                            std::uint64_t low) {
  if (closed_) return;
  bool const has_begun = places_.becomes_hot(key, hash, how, low);
  if (how == algo::hot_by::our_count) fleet_->hurry();
  if (has_begun) begin(key, hash);
}

void cache_hot::begin(std::string const& key, std::uint64_t hash) {
  hot_.try_emplace(hash);
  if (entries_) entries_->hot(key);
  if (near_.on_hot) near_.on_hot();
  if (options_.on_hot) callbacks_.run([&] { options_.on_hot(key); });
}

void cache_hot::cools(std::string const& key, std::uint64_t hash, algo::hot_by how) {
  if (!closed_ && places_.cools(hash, how)) end(key, hash);
}

void cache_hot::end(std::string const& key, std::uint64_t hash) {
  auto const gone = hot_.extract(hash);
  if (entries_) entries_->cooled(key);
  bool const was_kept = !gone.empty() && !gone.mapped().key.empty();
  if (near_.on_cooled && was_kept) near_.on_cooled(gone.mapped().key);
  if (options_.on_cooled) callbacks_.run([&] { options_.on_cooled(key); });
}

// A key that has waited begins as any other, and its callback's harm is its own.
void cache_hot::fill_free_places() {
  while (!closed_) {
    auto const out = places_.make_room();
    try {
      if (out) end(out->key, out->hash);
    } catch (...) {
      core_->count_failed_callback();
    }
    auto const next = closed_ ? std::nullopt : places_.take_free();
    if (!next) return;
    try {
      begin(next->key, next->hash);
    } catch (...) {
      core_->count_failed_callback();
    }
  }
}

cache_hot::hot_key_here* cache_hot::find(std::string_view key) {
  if (hot_.empty()) return nullptr;
  auto const at = hot_.find(core_->counter().id_of(key).hash);
  return at == hot_.end() ? nullptr : &at->second;
}

bool cache_hot::may_try(std::string_view key, clock::time_point now) {
  auto const* const here = find(key);
  return here && here->tries.may_send(now);
}

std::uint64_t cache_hot::try_sent(std::string_view key, clock::time_point now) {
  auto* const here = find(key);
  return here ? here->tries.sent(now) : 0;
}

void cache_hot::try_answered(std::string_view key, std::uint64_t number) {
  if (auto* const here = find(key)) here->tries.answered(number);
}

void cache_hot::try_again(std::string_view key) {
  if (auto* const here = find(key)) here->tries.changed();
}

void cache_hot::name(std::string_view key) {
  if (auto* const here = find(key)) here->key = key;
}

std::vector<fleet_hot_key> cache_hot::fleet_top(std::size_t most) const {
  return fleet_->top(most);
}

hot_fleet_stats cache_hot::fleet_stats() const { return fleet_->stats(); }

void cache_hot::add_counts(cache_stats& into) const {
  auto const here = core_->stats();
  into.became_hot = here.became_hot;
  into.cooled = here.cooled;
  into.hot = here.hot;
  auto const all = fleet_stats();
  into.fleet_hot = all.hot;
  into.fleet_reports = all.reported;
  into.fleet_report_errors = all.report_errors;
  into.fleet_reports_refused = all.refused;
}

void cache_hot::close() {
  closed_ = true;
  fleet_->close();
  if (entries_) entries_->close();
  timer_queue::remove(*this);
  hot_.clear();
}

}  // namespace herdlock::runtime
