#include <herdlock/hot_keys.hpp>

#include <cmath>
#include <new>
#include <random>
#include <sstream>
#include <utility>

#include "cache/fleet/hot_keys_core.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

algo::hot_thresholds thresholds_of(hot_keys_options const& options) {
  return {.threshold = options.threshold,
          .min_reads = options.min_reads,
          .reads_per_write = options.reads_per_write,
          .half = clock::duration(options.window) / 2,
          .min_hot_time = options.min_hot_time};
}

std::uint64_t fresh_seed() {
  std::random_device random;
  return std::uint64_t(random()) << 32 | random();
}

// The reads that make a key hot are counted for half a window: a key at the threshold's rate has to
// be read min_reads times in that.
void check_reachable(hot_keys_options const& options, std::string_view owner) {
  auto const half_ms = static_cast<double>(options.window.count()) / 2;
  auto const least = static_cast<double>(options.min_reads) * 1000;
  if (options.threshold * half_ms >= least) return;
  std::ostringstream text;
  text << owner << "threshold: a key that is read " << options.threshold
       << " times a second may never become hot, since it needs min_reads (" << options.min_reads
       << ") within half of the window (" << half_ms << " ms): use "
       << std::ceil(least / half_ms * 100) / 100 << " or more, less min_reads, or a longer window";
  throw error(make_failure(errc::invalid_value, text.str()));
}

}  // namespace

// Written so that what is no number is refused.
void check_hot_keys(hot_keys_options const& options, std::string_view owner) {
  constexpr milliseconds shortest{20};
  constexpr milliseconds longest = std::chrono::hours{24};
  auto const check_that = [owner](bool holds, char const* what) {
    if (holds) return;
    throw error(make_failure(errc::invalid_value, std::string(owner) + what));
  };
  check_that(options.threshold > 0 && options.threshold <= 1e12,
             "threshold: use more than 0, up to 1e12 reads a second");
  check_that(options.window >= shortest && options.window <= longest, "window: use 20 ms to 1 day");
  check_that(options.min_reads >= 1 && options.min_reads <= 1'000'000,
             "min_reads: use 1 to 1,000,000");
  check_that(options.reads_per_write >= 0 && options.reads_per_write <= 1e9,
             "reads_per_write: use 0 to 1e9");
  check_that(options.min_hot_time >= milliseconds{0} && options.min_hot_time <= limits::max_ttl,
             "min_hot_time: use 0 to 365 days");
  check_that(options.max_hot >= 1 && options.max_hot <= algo::hot_ledger::most_keys,
             "max_hot: use 1 to 1024");
  check_reachable(options, owner);
}

hot_keys_core::hot_keys_core(hot_keys_options const& options, std::size_t most_shards,
                             listener told)
    : told_(std::move(told)),
      counter_(fresh_seed(), most_shards),
      ledger_(thresholds_of(options), options.max_hot) {}

void hot_keys_core::prepare() {
  counter_.prepare();
  if (!has_room()) throw std::bad_alloc();
}

bool hot_keys_core::has_room() noexcept {
  try {
    reports_.resize(algo::hot_shard::counters);
    changes_.reserve(algo::hot_ledger::most_changes);
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

void hot_keys_core::tick(std::shared_ptr<hot_keys_core> const& self,
                         std::optional<clock::time_point> given) {
  if (self->ticking_.test_and_set(std::memory_order_acquire)) return;
  if (self->has_room()) self->sum_up(given);
  for (algo::hot_change const& change : self->changes_) {
    if (self.use_count() == 1) break;
    self->tell(change);
  }
  self->changes_.clear();
  self->ticking_.clear(std::memory_order_release);
}

void hot_keys_core::sum_up(std::optional<clock::time_point> given) {
  std::lock_guard hold(guard_);
  algo::hot_half const half = ledger_.begin(given ? *given : clock::now());
  std::size_t taken = 0;
  is_used_ = false;
  counter_.each_shard(
      [&](algo::hot_shard& shard) { taken = shard.take(algo::hot_shard::reports(reports_), half); },
      [&] {
        is_used_ = is_used_ || taken > 0;
        for (std::size_t i = 0; i < taken; ++i) {
          if (!ledger_.add(reports_[i].id(), reports_[i].uses)) ++stats_.reports_left_out;
        }
      });
  counter_.try_memory_again();
  ledger_.advance(given ? *given : clock::now(), changes_);
  for (algo::hot_change const& change : changes_) {
    ++(change.what == algo::hot_change::kind::hot ? stats_.became_hot : stats_.cooled);
  }
}

bool hot_keys_core::is_used() {
  std::lock_guard hold(guard_);
  return is_used_;
}

void hot_keys_core::tell(algo::hot_change const& change) noexcept {
  try {
    told_(change);
  } catch (...) {
    count_failed_callback();
  }
}

void hot_keys_core::count_failed_callback() noexcept {
  std::lock_guard hold(guard_);
  ++stats_.failed_callbacks;
}

std::vector<hot_key> hot_keys_core::top(std::size_t most) {
  std::lock_guard hold(guard_);
  auto const known = ledger_.top(most);
  std::vector<hot_key> found(known.size());
  for (std::size_t i = 0; i < known.size(); ++i) found[i].key = *known[i].key;
  std::vector<algo::hot_bounds> bounds(known.size());
  // A key that has no counter of some thread may have been used there even so.
  counter_.each_shard(
      [&](algo::hot_shard const& shard) {
        for (std::size_t i = 0; i < known.size(); ++i) bounds[i] += shard.bounds_of(known[i].id());
      },
      [] {});
  for (std::size_t i = 0; i < known.size(); ++i) {
    found[i].hot = known[i].hot;
    found[i].reads_per_second = known[i].reads_per_second;
    found[i].reads = {known[i].uses.reads, bounds[i].high.reads};
    found[i].writes = {known[i].uses.writes, bounds[i].high.writes};
  }
  return found;
}

std::size_t hot_keys_core::known() {
  std::lock_guard hold(guard_);
  return ledger_.size();
}

hot_keys_stats hot_keys_core::stats() {
  std::lock_guard hold(guard_);
  hot_keys_stats now = stats_;
  now.known = ledger_.size();
  now.hot = ledger_.hot();
  now.refused_hot = ledger_.refused();
  algo::hot_uses total;
  counter_.each_shard(
      [&](algo::hot_shard const& shard) {
        total += shard.total();
        now.counter_changes += shard.changes();
        ++now.shards;
      },
      [] {});
  now.reads = total.reads;
  now.writes = total.writes;
  return now;
}

}  // namespace detail

namespace {

static_assert(hot_keys::kept_bytes == algo::hot_key_id::kept_bytes);

}  // namespace

hot_keys::hot_keys(hot_keys_options options) {
  detail::check_hot_keys(options, "hot_keys option ");
  auto told = [on_hot = std::move(options.on_hot),
               on_cooled = std::move(options.on_cooled)](algo::hot_change const& change) {
    auto const& callback = change.what == algo::hot_change::kind::hot ? on_hot : on_cooled;
    if (callback) callback(*change.key);
  };
  core_ = std::make_shared<detail::hot_keys_core>(options, detail::most_numbered_threads,
                                                  std::move(told));
  core_->prepare();
}

hot_keys::~hot_keys() = default;

void hot_keys::read(std::string_view key, std::uint64_t times) const noexcept {
  core_->counter().used(key, {times, 0});
}

void hot_keys::wrote(std::string_view key, std::uint64_t times) const noexcept {
  core_->counter().used(key, {0, times});
}

// The callbacks may destroy this handle.
void hot_keys::tick() const {
  auto const core = core_;
  detail::hot_keys_core::tick(core, std::nullopt);
}

void hot_keys::tick(clock::time_point now) const {
  auto const core = core_;
  detail::hot_keys_core::tick(core, now);
}

std::vector<hot_key> hot_keys::top(std::size_t most) const { return core_->top(most); }

hot_keys_stats hot_keys::stats() const { return core_->stats(); }

}  // namespace v0
}  // namespace herdlock
