#include "cache/near/near_upkeep.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include <herdlock/tracking_store.hpp>

#include "algo/eviction_age.hpp"

namespace herdlock::runtime {
namespace {

constexpr milliseconds tick{1000};

}  // namespace

void near_upkeep::open() {
  if (!closed_) home_->timers().schedule(*this, clock::now() + tick);
}

void near_upkeep::close() {
  closed_ = true;
  timer_queue::remove(*this);
}

void near_upkeep::on_due(clock::time_point now) {
  home_->timers().schedule(*this, now + tick);
  if (auto const& source = home_->tracking()) source->ask_again();
  sweep(now);
  ask_for_evictions();
  if (interval_) touch(now);
}

// So often that all entries have been looked at in ticks_of_sweep, within what an event may take.
void near_upkeep::sweep(clock::time_point now) {
  constexpr std::size_t ticks_of_sweep = 30, most_sweeps = 10;
  auto const in_each = ticks_of_sweep * detail::near_table::sweep_looks;
  auto left = std::min(table_->counts().entries / in_each + 1, most_sweeps);
  for (; left > 0; --left) table_->sweep(now);
}

void near_upkeep::ask_for_evictions() {
  auto const& source = home_->tracking();
  if (!source || table_->counts().entries == 0) return;
  source->evictions([weak = weak_from_this()](result<eviction_news> const& told) {
    auto const self = weak.lock();
    if (!self || self->closed_) return;
    auto const news = told.has_value() ? *told : eviction_news{};
    self->interval_ = algo::touch_interval(news.idle_age);
    self->counters_.near_server_evictions += news.evicted;
  });
}

// So many of the entries in each tick that all have been looked at once in the interval.
void near_upkeep::touch(clock::time_point now) {
  auto const& source = home_->tracking();
  if (!source || touching_) return;
  auto const ticks = static_cast<std::size_t>(std::max<std::int64_t>(*interval_ / tick, 1));
  auto looks = table_->counts().entries / ticks + 1;
  std::vector<cache_key> used;
  while (looks > 0) {
    for (auto const& key : table_->next_hits(now, looks)) {
      auto full = cache_key::parse(prefix_ + key);
      if (full.has_value()) used.push_back(*std::move(full));
    }
  }
  touching_ = true;
  try {
    source->touch(std::move(used), [weak = weak_from_this()](result<void> const&) {
      if (auto const self = weak.lock()) self->touching_ = false;
    });
  } catch (std::bad_alloc const&) {
    touching_ = false;
  }
}

void near_upkeep::judge_all(near_selection const& which, std::weak_ptr<void> owner) {
  left_to_judge_ = table_->judge_all();
  if (left_to_judge_ != 0 && !std::exchange(judging_, true)) judge_some(which, owner);
}

void near_upkeep::judge_some(near_selection const& which, std::weak_ptr<void> const& owner) {
  constexpr std::size_t keys_of_a_step = 256;
  auto const alive = owner.lock();
  if (!alive) return;
  auto const some = std::min(left_to_judge_, keys_of_a_step);
  left_to_judge_ -= some;
  try {
    for (auto const& key : table_->next_keys(some)) {
      if (!which.has(key)) table_->drop(key, detail::near_drop::unwanted);
    }
  } catch (std::bad_alloc const&) {
    left_to_judge_ = 0;
    table_->clear();
  }
  judging_ = left_to_judge_ != 0;
  if (!judging_) return;
  asio::post(home_->executor(),
             [self = shared_from_this(), &which, owner] { self->judge_some(which, owner); });
}

}  // namespace herdlock::runtime
