#include "cache/keys/copies.hpp"

#include <utility>
#include <vector>

#include "algo/entry_tags.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

struct copies_at_hand::copy final : detail::held_by_caller, timed {
  copy(copies_at_hand& its_home, detail::cache_caller& its_caller)
      : common(its_home.home_), home(its_home), caller(its_caller) {}
  ~copy() override { timer_queue::remove(*this); }
  void on_due(clock::time_point) override {
    auto const keep = common->keep();
    if (keep) home.end_softly(caller);
  }

  home_ptr const common;
  copies_at_hand& home;  // while there is a keep()
  detail::cache_caller& caller;
  detail::cache_answer answer;
  algo::stale_copy number;
  clock::time_point ends;  // of the entry
  bool is_soft = false;
  std::optional<clock::time_point> soft_end;
  std::vector<algo::entry_tag> tags;
  clock::time_point came;
};

void copies_at_hand::keep(detail::cache_caller& caller, found_entry const& entry) {
  forget(caller);  // he looks again, and had an older one
  auto made = std::make_unique<copy>(*this, caller);
  auto const& times = entry.age->times;
  made->answer = entry.answer;
  made->ends = times.ends;
  made->number = ages_.keep(caller.key.str(), times, clock::now());
  caller.copy = std::move(made);
}

void copies_at_hand::keep_softly(detail::cache_caller& caller, found_entry const& stale) {
  auto const now = clock::now();
  auto const soft = caller.how.soft_timeout.value_or(home_->options.freshness.soft_timeout);
  auto const* const before = static_cast<copy const*>(caller.copy.get());
  auto due = soft > limits::max_ttl ? std::nullopt : std::optional(now + soft);
  // The caller looks again, and has waited already.
  if (before && before->is_soft) due = before->soft_end;
  keep(caller, stale);
  auto& made = static_cast<copy&>(*caller.copy);
  made.is_soft = true;
  made.soft_end = due;
  made.came = now;
  if (auto tags = algo::decode_tags(stale.age->header.extensions)) made.tags = *std::move(tags);
  if (due) home_->store->timers().schedule(made, *due);
}

std::optional<detail::cache_answer> copies_at_hand::end(detail::cache_caller& caller,
                                                        algo::wait_end how) {
  auto const had = std::exchange(caller.copy, nullptr);
  auto& it = static_cast<copy&>(*had);
  bool const is_answer = ages_.wait_over(caller.key.str(), it.number, how);
  auto const now = clock::now();
  if (!is_answer || now >= it.ends) return std::nullopt;
  bool const is_gone = tags_.have_ended(it.tags, it.came) ||
                       tags_.judge(it.tags, it.came, now) == algo::tag_verdict::gone;
  return is_gone ? std::nullopt : std::optional(std::move(it.answer));
}

result<detail::cache_answer> copies_at_hand::best_of(detail::cache_caller& caller,
                                                     result<detail::cache_answer> answer) {
  if (!caller.copy) return answer;
  bool const is_soft = static_cast<copy const&>(*caller.copy).is_soft;
  // A copy of a fresh entry is good until that ends, whatever has become of its load.
  auto how = is_soft ? algo::wait_end::error : algo::wait_end::soft_timeout;
  if (answer.has_value()) how = algo::wait_end::value;
  auto best = end(caller, how);
  if (!best) return answer;
  if (is_soft) {
    cache_counters::add(home_->counters.stale_after_error);
    home_->counters.tell(cache_outcome::stale, caller.key);
  }
  return *std::move(best);
}

// A caller whose copy died goes on waiting: the load tells him.
void copies_at_hand::end_softly(detail::cache_caller& caller) {
  auto const keep = caller.shared_from_this();
  auto best = end(caller, algo::wait_end::soft_timeout);
  if (!best) return;
  cache_counters::add(home_->counters.soft_timeouts);
  home_->counters.tell(cache_outcome::stale, caller.key);
  soft_end_(caller, *std::move(best));
}

}  // namespace herdlock::runtime
