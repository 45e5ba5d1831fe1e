// The exchange of a cache with the other processes about hot keys (algo/hot_fleet.hpp).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <herdlock/hot_fleet.hpp>
#include <herdlock/report_store.hpp>

#include "algo/fleet_teller.hpp"
#include "algo/hot_fleet.hpp"
#include "cache/fleet/hot_keys_core.hpp"
#include "runtime/store_core.hpp"

namespace herdlock::runtime {

struct fleet_settings {
  std::string topic;
  algo::fleet_thresholds thresholds;
};

/// Keys are without the prefix of the cache. All members on the executor, but for top() and
/// stats().
class cache_fleet final : public report_listener, public std::enable_shared_from_this<cache_fleet> {
 public:
  using change_listener = std::function<void(algo::fleet_change const&)>;
  /// A value of the key is kept here. Empty: none ever is.
  using keeping = std::function<bool(std::string_view key)>;

  cache_fleet(std::shared_ptr<store_core> home, fleet_settings settings, change_listener told);

  /// To be called at each tick of the counters. Asks the store for nothing before a key is read at
  /// a hundredth of the threshold here.
  void tick(clock::time_point now, detail::hot_keys_core& counted, keeping const& keeps);
  /// The next tick has something to tell: a key has become hot here.
  void hurry() noexcept { hurries_ = true; }
  // Any thread.
  std::vector<fleet_hot_key> top(std::size_t most) const;
  hot_fleet_stats stats() const;

  void close() { closed_ = true; }

 private:
  static constexpr milliseconds pause{100};
  /// The pause after a report that the store did not take.
  static constexpr milliseconds pause_of_trouble{5000};
  /// The pause between two sums, for the square of the processes: each brings work.
  static constexpr std::chrono::microseconds pause_of_sums{10};
  static constexpr milliseconds longest_pause_of_sums{1000};

  struct due_times {
    clock::time_point tick{}, report{}, sum{};
  };

  void on_report(std::string_view text) override;
  algo::fleet_hearing take(algo::fleet_report report, clock::time_point now);
  void count(std::uint64_t hot_fleet_stats::*what);
  void note_what_is_kept(std::vector<algo::fleet_key>& known, keeping const& keeps,
                         clock::time_point now);
  void listen();
  void send(algo::fleet_report const& report);
  void tell_changes(clock::time_point now);

  std::shared_ptr<store_core> const home_;
  fleet_settings const settings_;
  change_listener const told_;
  std::uint64_t const process_;
  algo::fleet_teller teller_;
  std::unordered_map<std::string, clock::time_point> kept_since_;  // for the keys that are known
  due_times due_;
  bool hurries_ = false;
  bool has_news_ = false;
  bool listens_ = false;
  bool closed_ = false;

  mutable std::mutex guard_;
  algo::hot_fleet fleet_;
  hot_fleet_stats stats_;
};

}  // namespace herdlock::runtime
