#include "runtime/cache_rules.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace herdlock::runtime {
namespace {

// The clock by which people give the times of rules.
std::uint64_t wall_clock_ms() {
  auto const since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(since).count());
}

// So its value is there when its time comes.
void give_head_start(algo::hot_rule& one) {
  bool const is_one_key = one.by == algo::hot_rule::match::exact;
  if (one.does != algo::hot_rule::what::pin || !is_one_key) return;
  auto const early = static_cast<std::uint64_t>(cache_rules::head_start.count());
  if (one.from_ms > early) one.from_ms -= early;
}

}  // namespace

cache_rules::cache_rules(std::shared_ptr<store_core> home, cache_counters& counters,
                         std::string const& prefix)
    : home_(std::move(home)), counters_(counters), prefix_(prefix) {}

algo::hot_verdict cache_rules::of(std::string_view key) const {
  if (!are_there_) return {};
  auto const now = wall_clock_ms();
  std::lock_guard const lock(guard_);
  return reader_.of(key, now);
}

void cache_rules::open() {
  if (closed_ || std::exchange(opened_, true)) return;
  auto const& rules = home_->rules();
  if (!rules) return;
  auto const now = clock::now();
  next_look_ = now + pause_of_looks;
  schedule(now);
  rules->listen_for_rules(hot_keys_topic(prefix_), weak_from_this());
}

void cache_rules::warm_by(std::function<void(std::string const& key)> load) {
  if (closed_) return;
  load_ = std::move(load);
  warmed_.clear();
  open();
  warm();
}

bool cache_rules::have_pins() const {
  std::lock_guard const lock(guard_);
  auto const& rules = reader_.list().rules;
  return std::any_of(rules.begin(), rules.end(), [](algo::hot_rule const& one) {
    return one.does == algo::hot_rule::what::pin;
  });
}

void cache_rules::on_rules(store_rules const& told) {
  if (closed_) return;
  {
    std::lock_guard const lock(guard_);
    if (told.version <= reader_.list().version) return;
  }
  auto list = algo::decode_list(told.text);
  if (!list) {
    counters_.warnings.add(home_->display_name() + ": the rules for hot keys of the prefix " +
                           in_quotes(prefix_) +
                           " are of a kind that this version of herdlock does not know, so the "
                           "ones before them hold; update it");
    return;
  }
  list->version = told.version;
  std::for_each(list->rules.begin(), list->rules.end(), &give_head_start);
  if (take(*std::move(list))) apply(clock::now());
}

bool cache_rules::take(algo::hot_list list) {
  std::lock_guard const lock(guard_);
  bool const is_news = reader_.take(std::move(list));
  are_there_ = !reader_.empty();
  return is_news;
}

void cache_rules::on_due(clock::time_point now) {
  if (closed_) return;
  if (now >= next_look_) look(now);
  if (are_there_) return apply(now);
  schedule(now);
}

void cache_rules::look(clock::time_point now) {
  next_look_ = now + pause_of_looks;
  auto const& rules = home_->rules();
  if (!rules) return;
  rules->read_rules(hot_keys_topic(prefix_),
                    [weak = weak_from_this()](result<store_rules> const& found) {
                      auto const self = weak.lock();
                      if (self && found.has_value()) self->on_rules(*found);
                    });
}

void cache_rules::apply(clock::time_point now) {
  auto const keep = shared_from_this();
  auto const changed = changed_;  // it may close this
  if (changed) changed();
  warm();
  if (!closed_) schedule(now);
}

void cache_rules::warm() {
  if (!load_ || !are_there_) return;
  auto const now = wall_clock_ms();
  std::set<std::string> pinned;
  std::vector<std::string> fresh;
  {
    std::lock_guard const lock(guard_);
    for (auto const& one : reader_.pins(now)) {
      if (!one.holds(now) || !reader_.of(one.key, now).pinned) continue;
      bool const is_fresh = pinned.insert(one.key).second && !warmed_.contains(one.key);
      if (is_fresh) fresh.push_back(one.key);
    }
  }
  warmed_ = std::move(pinned);
  auto const load = load_;  // a call of it may close this
  for (auto const& key : fresh) load(key);
}

// The wall clock may be set: so it is read once in a while.
void cache_rules::schedule(clock::time_point now) {
  auto at = next_look_;
  auto const wall = wall_clock_ms();
  std::optional<std::uint64_t> change;
  {
    std::lock_guard const lock(guard_);
    change = reader_.next_change(wall);
  }
  constexpr auto longest = static_cast<std::uint64_t>(pause_of_looks.count());
  if (change) at = std::min(at, now + milliseconds(std::min(*change - wall, longest) + 1));
  home_->timers().schedule(*this, at);
}

void cache_rules::close() {
  closed_ = true;
  timer_queue::remove(*this);
  changed_ = nullptr;
  load_ = nullptr;
}

}  // namespace herdlock::runtime
