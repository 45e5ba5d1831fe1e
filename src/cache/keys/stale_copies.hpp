// The copies that callers who wait for a load have at hand: of the entry that it is to replace.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>

#include <herdlock/detail/cache_core.hpp>

#include "algo/freshness.hpp"

namespace herdlock::runtime {

/// All members on the executor.
class stale_copies {
 public:
  /// `ages` outlives this.
  explicit stale_copies(algo::freshness_machine& ages) : ages_(ages) {}

  void keep(detail::cache_caller& caller, detail::cache_answer const& answer,
            algo::entry_times const& times) {
    end(caller, algo::wait_end::value);  // he looks again, and had an older one
    auto const copy = ages_.keep(caller.key.str(), times, clock::now());
    at_hand_.try_emplace(&caller, kept_answer{answer, copy, times.ends});
  }

  /// The caller's wait is over. Returns the copy that he had, if it is an answer to such an end:
  /// not when its entry has ended meanwhile.
  std::optional<detail::cache_answer> end(detail::cache_caller& caller, algo::wait_end how) {
    if (at_hand_.empty()) return std::nullopt;
    auto had = at_hand_.extract(&caller);
    if (!had) return std::nullopt;
    bool const is_answer = ages_.wait_over(caller.key.str(), had.mapped().copy, how);
    if (!is_answer || clock::now() >= had.mapped().ends) return std::nullopt;
    return std::move(had.mapped().answer);
  }

 private:
  struct kept_answer {
    detail::cache_answer answer;
    algo::stale_copy copy;
    clock::time_point ends;  // of the entry
  };

  algo::freshness_machine& ages_;
  std::unordered_map<detail::cache_caller*, kept_answer> at_hand_;
};

}  // namespace herdlock::runtime
