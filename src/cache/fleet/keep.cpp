#include "cache/fleet/keep.hpp"

#include <herdlock/hot_keys.hpp>

#include <utility>

namespace herdlock::runtime {
cache_keep::cache_keep(std::shared_ptr<store_core> home, cache_counters& counters,
                       std::string const& prefix, std::shared_ptr<cache_rules> rules)
    : home_(std::move(home)), counters_(counters), prefix_(prefix), rules_(std::move(rules)) {}

void cache_keep::open() {
  rules_->follow([weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self || self->closed_) return;
    self->machine_.ruled();
    self->schedule();
  });
}

void cache_keep::hot(std::string_view key) {
  if (closed_ || key.size() >= hot_keys::kept_bytes) return;
  machine_.hot(key, clock::now());
  schedule();
}

void cache_keep::on_due(clock::time_point now) {
  if (closed_) return;
  auto const bound = [this](std::string_view key) -> std::optional<milliseconds> {
    auto const at_most = rules_->of(key).keep_at_most;
    return at_most == milliseconds{0} ? std::nullopt : std::optional(at_most);
  };
  for (auto const& one : machine_.due(now, bound)) ask(one);
  schedule();
}

void cache_keep::ask(algo::entry_keeper::question const& what) {
  auto const& rules = home_->rules();
  auto key = cache_key::parse(prefix_ + what.key);
  if (!rules || !key) return;  // then it is not asked again
  rules->prolong({*std::move(key), what.to, what.at_most},
                 [weak = weak_from_this(), own = what.key](result<bool> const& said) {
                   if (auto const self = weak.lock()) self->answered(own, said);
                 });
}

void cache_keep::answered(std::string const& key, result<bool> const& said) {
  if (closed_) return;
  if (said.has_error() && !passes_by(said.error())) {
    counters_.warnings.add(home_->display_name() + ": hot keys of the prefix " +
                           in_quotes(prefix_) +
                           " are not kept as their rules say, so their entries end as any other: " +
                           said.error().message);
  }
  machine_.answered(key);
  schedule();
}

void cache_keep::schedule() {
  if (auto const at = machine_.next()) home_->timers().schedule(*this, *at);
}

void cache_keep::close() {
  closed_ = true;
  timer_queue::remove(*this);
}

}  // namespace herdlock::runtime
