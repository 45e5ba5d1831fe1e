// The knowledge that a process has of its fleet, and those to whom it reports, for one prefix:
//
// - where the store pushes reports (report_store::pushes) and has leases that fence: to the elected
// collector of the store,
//   whose lists it follows; it may be elected itself (cache/fleet/collector.hpp);
// - elsewhere, to all who read the store: each sums up for itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/report_store.hpp>

#include "algo/fleet_teller.hpp"
#include "algo/hot_fleet.hpp"
#include "cache/fleet/collector.hpp"
#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// A cache in its fleet.
struct fleet_settings {
  std::string prefix;
  algo::fleet_thresholds thresholds;
  std::weak_ptr<detail::store_context> context;  ///< of the store
  cache_counters& counters;
};

/// On the executor, but for top(), processes() and hot(), which nothing else may run beside.
class fleet_knowledge {
 public:
  using hearing = algo::fleet_hearing;

  virtual ~fleet_knowledge() = default;

  /// The topic of what is heard: reports, or lists.
  virtual std::string topic() const = 0;
  /// A report of ours as it is sent.
  virtual store_report addressed(algo::fleet_report const& report) const = 0;
  virtual algo::fleet_view view() const = 0;
  /// A report of ours is sent.
  virtual void said(algo::fleet_report report, clock::time_point now) = 0;
  /// The store has not taken one.
  virtual void unsaid() = 0;
  /// Nothing for what is no news because it is ours.
  virtual std::optional<hearing> hear(std::string_view text, clock::time_point now) = 0;
  /// The keys that have become hot or cooled up to now.
  virtual std::vector<algo::fleet_change> advance(clock::time_point now) = 0;
  /// Between two calls of advance().
  virtual clock::duration pause() const = 0;
  /// To be called again and again from the first report on. Tells what there was since.
  virtual store_collector::trouble take_part(clock::time_point now) = 0;
  /// This process collects no more.
  virtual void leave() = 0;

  virtual std::vector<algo::fleet_sum> top(std::size_t most) const = 0;
  /// Those that report.
  virtual std::size_t processes() const = 0;
  virtual std::size_t hot() const = 0;
};

/// `process`: the random number of this one. `home` has reports.
std::unique_ptr<fleet_knowledge> make_fleet_knowledge(std::shared_ptr<store_core> const& home,
                                                      fleet_settings const& settings,
                                                      std::uint64_t process);

}  // namespace herdlock::runtime
