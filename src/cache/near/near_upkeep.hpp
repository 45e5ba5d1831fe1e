// The work that a near cache does now and then, whoever calls it or not.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <herdlock/types.hpp>

#include "cache/near/near_selection.hpp"
#include "cache/near/near_table.hpp"
#include "runtime/cache_counters.hpp"
#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// Frees what is not served any more, and tells an evicting server which of the kept entries are in
/// use: it sees nothing of what is served here (R14). On the executor.
class near_upkeep final : public timed, public std::enable_shared_from_this<near_upkeep> {
 public:
  /// `counters` are there until close().
  near_upkeep(std::shared_ptr<store_core> home, std::shared_ptr<detail::near_table> table,
              cache_counters& counters, std::string prefix)
      : home_(std::move(home)),
        table_(std::move(table)),
        counters_(counters),
        prefix_(std::move(prefix)) {}
  ~near_upkeep() override { timer_queue::remove(*this); }

  void open();
  /// Drops what may not stay of all entries that are there now, also when that is under way: later
  /// ones are judged when they come. In steps: with many entries and many rules it takes longer
  /// than others should have to wait. `which` belongs to `owner`, without which it ends. Without
  /// memory to find them nothing stays.
  void judge_all(near_selection const& which, std::weak_ptr<void> owner);
  void close();

 private:
  void on_due(clock::time_point now) override;
  void sweep(clock::time_point now);
  void ask_for_evictions();
  void touch(clock::time_point now);
  void judge_some(near_selection const& which, std::weak_ptr<void> const& owner);

  std::shared_ptr<store_core> home_;
  std::shared_ptr<detail::near_table> table_;
  cache_counters& counters_;
  std::string prefix_;
  std::optional<milliseconds> interval_;  // in which each entry is touched once; nothing: never
  bool touching_ = false;
  std::size_t left_to_judge_ = 0;
  bool judging_ = false;
  bool closed_ = false;
};

}  // namespace herdlock::runtime
