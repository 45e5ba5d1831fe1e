// The exchange of a cache with the other processes about hot keys: what it reports, and what has
// become hot or cooled in the fleet (cache/fleet/knowledge.hpp).
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
#include "cache/fleet/hot_keys_core.hpp"
#include "cache/fleet/knowledge.hpp"
#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// A cache whose process tells others nothing, and hears of nothing.
class lone_process {
 public:
  /// A value of the key is kept here. Empty: none ever is.
  using keeping = std::function<bool(std::string_view key)>;

  virtual ~lone_process() = default;

  virtual void tick(clock::time_point, detail::hot_keys_core&, keeping const&) {}
  /// The next tick has something to tell: a key has become hot here.
  virtual void hurry() noexcept {}
  // Any thread.
  virtual std::vector<fleet_hot_key> top(std::size_t) const { return {}; }
  virtual hot_fleet_stats stats() const { return {}; }

  virtual void close() {}
};

/// Keys are without the prefix of the cache. All members on the executor, but for top() and
/// stats().
class cache_fleet final : public lone_process,
                          public report_listener,
                          public std::enable_shared_from_this<cache_fleet> {
 public:
  using change_listener = std::function<void(algo::fleet_change const&)>;

  cache_fleet(std::shared_ptr<store_core> home, fleet_settings settings, change_listener told);

  /// To be called at each tick of the counters. Asks the store for nothing before a key is read at
  /// a hundredth of the threshold here.
  void tick(clock::time_point now, detail::hot_keys_core& counted, keeping const& keeps) override;
  void hurry() noexcept override { hurries_ = true; }
  std::vector<fleet_hot_key> top(std::size_t most) const override;
  hot_fleet_stats stats() const override;
  void close() override;

 private:
  static constexpr milliseconds pause{100};
  /// The pause after a report that the store did not take.
  static constexpr milliseconds pause_of_trouble{5000};
  /// A report that an outage has swallowed is told again within that time of the connection.
  static constexpr milliseconds spread_behind_outage{1000};

  struct due_times {
    clock::time_point tick{}, report{}, sum{};
  };

  void on_report(std::string_view text) override;
  void on_listening() override;
  void on_refused(failure const& why);
  void count(std::uint64_t hot_fleet_stats::*what);
  void note_what_is_kept(std::vector<algo::fleet_key>& known, keeping const& keeps,
                         clock::time_point now);
  void listen();
  void send(algo::fleet_report report, clock::time_point now);
  void take_part(clock::time_point now);
  void tell_changes(clock::time_point now);

  std::shared_ptr<store_core> const home_;
  fleet_settings const settings_;
  change_listener const told_;
  std::uint64_t const process_;
  algo::fleet_teller teller_;
  std::unordered_map<std::string, clock::time_point> kept_since_;  // for the keys that are known
  due_times due_;
  bool hurries_ = false;
  bool has_reported_ = false;
  bool waits_for_connection_ = false;  // the last report failed, as the store was away
  bool has_news_ = false;
  bool listens_ = false;
  bool closed_ = false;

  mutable std::mutex guard_;
  std::unique_ptr<fleet_knowledge> const known_;
  hot_fleet_stats stats_;
};

}  // namespace herdlock::runtime
