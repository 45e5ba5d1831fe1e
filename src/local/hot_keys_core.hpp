// What the handles of one hot_keys share: the counters of the threads, their sum, the callbacks.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <herdlock/hot_keys.hpp>

#include "algo/hot_ledger.hpp"
#include "local/hot_counter.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

class hot_keys_core {
 public:
  /// The options are checked.
  hot_keys_core(hot_keys_options options, std::uint64_t seed);

  hot_counter& counter() noexcept { return counter_; }
  std::vector<hot_key> top(std::size_t most);
  hot_keys_stats stats();

  /// At that time; nothing: at the clock's. `self` is the only one that keeps it when the last
  /// handle goes.
  static void tick(std::shared_ptr<hot_keys_core> const& self,
                   std::optional<clock::time_point> given);

 private:
  void sum_up(std::optional<clock::time_point> given);
  void tell(algo::hot_change const& change) noexcept;

  hot_keys_options const options_;
  hot_counter counter_;

  // Of the one tick that is under way. It allocates nothing for itself, so it can't stop half-way.
  std::atomic_flag ticking_;
  std::vector<algo::hot_report> reports_;
  std::vector<algo::hot_change> changes_;

  std::mutex guard_;
  algo::hot_ledger ledger_;
  hot_keys_stats stats_;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
