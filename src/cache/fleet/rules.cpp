#include "cache/fleet/rules.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

// The clock by which people give the times of rules.
std::uint64_t wall_clock_ms() {
  auto const since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(since).count());
}

// So its value is there when its time comes.
void give_head_start(hot_rule& one) {
  bool const is_one_key = one.by == hot_rule::match::exact;
  if (one.does != hot_rule::action::pin || !is_one_key || !one.from) return;
  if (one.from->time_since_epoch() > cache_rules::head_start) *one.from -= cache_rules::head_start;
}

}  // namespace

bool passes_by(failure const& why) {
  return why == errc::unavailable || why == errc::timed_out || why == errc::canceled ||
         why == errc::overloaded;
}

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
  rules->listen_for_rules(hot_keys_topic(prefix_), weak_from_this());
  look(now);  // it may be that it can't be told
  schedule(now);
}

void cache_rules::warm_by(key_warmer load) {
  if (closed_) return;
  load_ = std::move(load);
  warm_.begin_anew();
  open();
  warm();
  schedule(clock::now());
}

bool cache_rules::have_pins() const {
  std::lock_guard const lock(guard_);
  auto const& rules = reader_.list().rules;
  return std::any_of(rules.begin(), rules.end(),
                     [](hot_rule const& one) { return one.does == hot_rule::action::pin; });
}

void cache_rules::on_rules(store_rules const& told) { heed(told, std::nullopt); }

void cache_rules::heed(store_rules const& told, std::optional<std::uint64_t> known_at_look) {
  if (closed_ || told.version == version()) return;
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
  if (take(*std::move(list), known_at_look)) apply(clock::now());
}

bool cache_rules::take(algo::rule_list list, std::optional<std::uint64_t> known_at_look) {
  std::lock_guard const lock(guard_);
  bool const is_news = known_at_look ? reader_.take_found(std::move(list), *known_at_look)
                                     : reader_.take(std::move(list));
  are_there_ = !reader_.empty();
  return is_news;
}

std::uint64_t cache_rules::version() const {
  std::lock_guard const lock(guard_);
  return reader_.list().version;
}

void cache_rules::on_due(clock::time_point now) {
  if (closed_) return;
  if (now >= next_look_) look(now);
  auto const wall = wall_clock_ms();
  bool const was_set_back = wall < applied_at_;
  if (are_there_ && (was_set_back || (change_at_ && wall >= *change_at_))) return apply(now);
  auto const keep = shared_from_this();
  load_what_is_due();
  if (!closed_) schedule(now);
}

void cache_rules::look(clock::time_point now) {
  // Processes that began together do not look together.
  next_look_ = now + pause_of_looks * 3 / 4 +
               milliseconds(static_cast<milliseconds::rep>(
                   static_cast<double>(pause_of_looks.count()) / 4 * random_unit()));
  auto const& rules = home_->rules();
  if (!rules) return;
  rules->read_rules(hot_keys_topic(prefix_),
                    [weak = weak_from_this(), known = version()](result<store_rules> const& found) {
                      if (auto const self = weak.lock()) self->on_found(known, found);
                    });
}

void cache_rules::on_found(std::uint64_t known, result<store_rules> const& found) {
  if (closed_) return;
  if (found.has_error()) {
    auto const& why = found.error();
    if (!passes_by(why))
      counters_.warnings.add("the rules for hot keys are not obeyed: " + why.message);
    return;
  }
  if (found->version != 0) heed(*found, known);  // else the server may have lost its data
}

void cache_rules::apply(clock::time_point now) {
  auto const keep = shared_from_this();
  applied_at_ = wall_clock_ms();
  {
    std::lock_guard const lock(guard_);
    change_at_ = reader_.next_change(applied_at_);
  }
  auto const followers = changed_;  // one may close this
  for (auto const& changed : followers) changed();
  warm();
  if (!closed_) schedule(now);
}

void cache_rules::warm() {
  if (!load_) return;
  auto const now = wall_clock_ms();
  std::vector<algo::warm_up::wish> wishes;
  {
    std::lock_guard const lock(guard_);
    for (auto const& one : reader_.pins(now)) {
      if (!algo::holds(one, now) || !reader_.of(one.key, now).pinned) continue;
      auto const early = static_cast<std::uint64_t>(head_start.count());
      wishes.push_back({one.key, one.from ? algo::in_ms(one.from) + early : 0});
    }
  }
  warm_.want(std::move(wishes));
  load_what_is_due();
}

void cache_rules::load_what_is_due() {
  if (!load_) return;
  auto const load = load_;  // a call of it may close this
  for (auto const& key : warm_.take_due(wall_clock_ms())) {
    auto on_loaded = [weak = weak_from_this(), key](failure why) {
      auto const self = weak.lock();
      if (!self) return;
      asio::post(self->home_->executor(), [self, key, why = std::move(why)] {
        if (!self->closed_) self->on_loaded(key, why);
      });
    };
    try {
      load(key, on_loaded);
    } catch (...) {
      on_loaded(make_failure(errc::load_failed, detail::exception_text(std::current_exception())));
    }
  }
}

void cache_rules::on_loaded(std::string const& key, failure const& why) {
  using loading = algo::warm_up::loading;
  if (why.code) {
    counters_.warnings.add("the loader of the cache failed for a key that a rule pins: " +
                           why.message + "; it is called again until it succeeds");
  }
  warm_.loaded(key, why.code ? loading::failed : loading::succeeded, wall_clock_ms());
  load_what_is_due();
  if (!closed_) schedule(clock::now());
}

// The wall clock may be set: so it is read once in a while.
void cache_rules::schedule(clock::time_point now) {
  auto at = next_look_;
  auto const wall = wall_clock_ms();
  constexpr auto longest = static_cast<std::uint64_t>(pause_of_looks.count());
  auto const no_later_than = [&](std::optional<std::uint64_t> const& time) {
    if (!time) return;
    auto const left = *time > wall ? *time - wall : 0;
    at = std::min(at, now + milliseconds(std::min(left, longest) + 1));
  };
  no_later_than(change_at_);
  if (load_) no_later_than(warm_.next_due());
  home_->timers().schedule(*this, at);
}

void cache_rules::close() {
  closed_ = true;
  timer_queue::remove(*this);
  changed_.clear();
  load_ = nullptr;
}

}  // namespace herdlock::runtime
