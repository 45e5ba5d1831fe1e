// The core that the handles of one hot_keys share, and that a cache has: the counters of the
// threads, their sum, and the listener to changes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <herdlock/hot_keys.hpp>

#include "algo/hot_ledger.hpp"
#include "cache/fleet/hot_counter.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

/// Throws herdlock::error, which names the option of `owner`.
void check_hot_keys(hot_keys_options const& options, std::string_view owner);

class hot_keys_core {
 public:
  /// The exceptions of a listener are counted.
  using listener = std::function<void(algo::hot_change const&)>;

  /// The options are checked; their callbacks are not called. The hash has a seed of its own. It
  /// takes its memory with the first use and the first tick, or by prepare().
  hot_keys_core(hot_keys_options const& options, std::size_t most_shards, listener told);

  /// Takes its memory, so that no use is lost and no tick left out where memory ends. Throws
  /// std::bad_alloc. Before anything else.
  void prepare();

  hot_counter& counter() noexcept { return counter_; }
  std::vector<hot_key> top(std::size_t most);
  hot_keys_stats stats();
  /// Keys, as of the last tick.
  std::size_t known();
  /// Something was used between the last two ticks.
  bool is_used();
  /// A callback that others have called has failed.
  void count_failed_callback() noexcept;

  /// A tick at the time that is given; nothing: at the clock's. It is left out where there is no
  /// memory for the first one. `self` alone keeps the core when the last handle goes.
  static void tick(std::shared_ptr<hot_keys_core> const& self,
                   std::optional<clock::time_point> given);

 private:
  bool has_room() noexcept;
  void sum_up(std::optional<clock::time_point> given);
  void tell(algo::hot_change const& change) noexcept;

  listener const told_;
  hot_counter counter_;

  // The parts of the one tick that is under way. It allocates nothing for itself once it has begun,
  // so it can't stop half-way.
  std::atomic_flag ticking_;
  std::vector<algo::hot_report> reports_;
  std::vector<algo::hot_change> changes_;

  std::mutex guard_;
  algo::hot_ledger ledger_;
  hot_keys_stats stats_;
  bool is_used_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
