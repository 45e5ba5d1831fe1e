// The values that callers who wait for a load have at hand: of the entry that it is to replace.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <herdlock/detail/cache_core.hpp>

#include "algo/freshness.hpp"
#include "algo/tag_check.hpp"
#include "cache/keys/entries.hpp"
#include "cache/keys/home.hpp"

namespace herdlock::runtime {

/// Each caller has one copy at most, and it goes with the caller. All members on the executor.
class copies_at_hand {
 public:
  /// The soft timeout of a caller is over: its call ends with this answer.
  using soft_end = std::function<void(detail::cache_caller&, detail::cache_answer)>;

  /// `ages` and `tags` outlive this, and the callers with copies.
  copies_at_hand(home_ptr home, algo::freshness_machine& ages, algo::tag_check const& tags)
      : home_(std::move(home)), ages_(ages), tags_(tags) {}

  void end_softly_by(soft_end call) { soft_end_ = std::move(call); }
  /// The caller waits for his own loader. The copy is his answer to any error while its entry is
  /// there.
  void keep(detail::cache_caller& caller, found_entry const& entry);
  /// The caller waits for a load, and has this one should it take long, or fail with fail_safe.
  void keep_softly(detail::cache_caller& caller, found_entry const& stale);
  /// The answer to the caller when his wait has ended with this: the same, or his copy.
  result<detail::cache_answer> best_of(detail::cache_caller& caller,
                                       result<detail::cache_answer> answer);
  /// The caller has his answer.
  void forget(detail::cache_caller& caller) {
    if (caller.copy) end(caller, algo::wait_end::value);
  }

 private:
  struct copy;

  std::optional<detail::cache_answer> end(detail::cache_caller& caller, algo::wait_end how);
  void end_softly(detail::cache_caller& caller);

  home_ptr const home_;
  algo::freshness_machine& ages_;
  algo::tag_check const& tags_;
  soft_end soft_end_;
};

}  // namespace herdlock::runtime
