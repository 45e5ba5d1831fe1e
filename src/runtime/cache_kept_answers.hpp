// What loads without the store came to, for those who ask again within a moment.
#pragma once

#include <herdlock/detail/cache_core.hpp>

#include "algo/recent_answers.hpp"
#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// A load without the store stores nothing, so each next caller would load anew: a key that is
/// asked for a thousand times a second would be loaded as often for as long as the outage lasts.
/// All members on the executor of the store.
class unguarded_answers final : private timed {
 public:
  /// How long an answer is given again, at most, and how many are kept.
  static constexpr milliseconds longest{250};
  static constexpr std::size_t most = 1024;

  unguarded_answers(store_core& home, cache_options const& options)
      : home_(home), options_(options) {}
  ~unguarded_answers() override { timer_queue::remove(*this); }

  void add(cache_key const& key, result<detail::cache_answer> answer);
  /// Null when there is none.
  result<detail::cache_answer> const* find(cache_key const& key) const {
    return answers_.empty() ? nullptr : answers_.find(key.str(), clock::now());
  }
  void erase(cache_key const& key) { answers_.erase(key.str()); }

 private:
  void on_due(clock::time_point now) override;
  milliseconds time_of(result<detail::cache_answer> const& answer) const;

  store_core& home_;
  cache_options const& options_;
  algo::recent_answers<result<detail::cache_answer>> answers_{most};
};

}  // namespace herdlock::runtime
