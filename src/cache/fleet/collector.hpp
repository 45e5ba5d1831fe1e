// The collector of a store: of all processes that report hot keys over it, one is elected, hears
// what they report, and publishes a list for each prefix (algo/fleet_collector.hpp).
//
// One for each store handle, however many caches it has. It listens from the begin of its term, so
// a prefix of which a report comes later needs no interval of its own. What is hot of a prefix that
// has no cache here is not known when the term begins: there each key is judged anew.
// Why: docs/decisions/hot-keys.md#one-process-sums-up-for-all
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <herdlock/report_store.hpp>

#include "algo/fleet_collector.hpp"
#include "algo/fleet_report.hpp"
#include "algo/list_follower.hpp"
#include "runtime/election_core.hpp"
#include "runtime/store_core.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

/// All members on the executor. Its end ends the candidacy, and gives the term back.
class store_collector final : public timed, public std::enable_shared_from_this<store_collector> {
 public:
  /// For so many prefixes; the reports of others are refused. All together keep no more bytes of
  /// reports than fleet_thresholds::most_bytes.
  static constexpr std::size_t most_fleets = 1000;
  /// The pause after an election that the store refused.
  static constexpr milliseconds pause_of_trouble{5000};

  using context_ptr = std::weak_ptr<detail::store_context>;

  /// The one of the store; made if there is none.
  static std::shared_ptr<store_collector> of(std::shared_ptr<store_core> const& home,
                                             context_ptr const& context);
  store_collector(std::shared_ptr<store_core> home, context_ptr context);
  ~store_collector() override;

  /// Stands in the election from now on. To be called again and again: where the store refused it
  /// this tries anew, once in pause_of_trouble.
  void stand(clock::time_point now);
  /// A list that this process follows: what is hot by it stays hot if this process is elected.
  void follows(std::string_view prefix, algo::fleet_list const& list);

  /// The trouble since this was last asked.
  struct trouble {
    std::uint64_t refused = 0;  ///< reports
    failure why{};              ///< it may not stand; told once
  };
  trouble take_trouble() { return std::exchange(trouble_, {}); }

 private:
  class ear;
  struct fleet {
    std::string prefix;
    algo::fleet_list followed{};
    algo::fleet_thresholds thresholds{};
    clock::time_point asked{};                    // somebody has reported such thresholds
    std::optional<algo::fleet_collector> sums{};  // in a term, once somebody has reported
  };

  static asio::awaitable<void> collect(std::weak_ptr<store_collector> who, election_term& term);
  void on_campaign_ended(result<void> const& how);
  void begin_term(election_term const& term);
  void end_term();
  void on_report(std::string_view text);
  algo::fleet_hearing hear(algo::addressed_report told, clock::time_point now);
  fleet* fleet_of(std::string_view prefix);
  algo::fleet_collector& sums_of(fleet& one, algo::fleet_thresholds const& asked,
                                 clock::time_point now);
  void on_due(clock::time_point now) override { publish(now); }
  void publish(clock::time_point now);
  void send(std::string_view prefix, algo::fleet_list const& list);

  std::shared_ptr<store_core> const home_;
  context_ptr const context_;
  std::shared_ptr<detail::election_core> candidate_;  // null while it does not stand
  clock::time_point stands_again_{};
  std::list<fleet> fleets_;
  trouble trouble_;
  bool warned_ = false;

  // In a term.
  election_term const* term_ = nullptr;
  clock::time_point began_{};
  std::shared_ptr<ear> ear_;
};

}  // namespace herdlock::runtime
