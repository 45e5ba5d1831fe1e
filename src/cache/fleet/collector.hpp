// The collector of a store: of all processes that report hot keys over it, one is elected, hears
// what they report, and publishes a list for each prefix (algo/fleet_collector.hpp).
//
// One for each store handle, however many caches it has. Its term begins when the store has said
// that it pushes the reports. What is hot of a prefix that has no cache here is read from the last
// list, which the store keeps. A collector is not told that it cannot hear, or cannot publish: but
// its process reports, and follows its lists, so where these do not come back it resigns.
// Why: docs/decisions/hot-keys.md#one-process-sums-up-for-all
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/report_store.hpp>

#include "algo/addressed_report.hpp"
#include "algo/echo_watch.hpp"
#include "algo/fleet_collector.hpp"
#include "algo/list_follower.hpp"
#include "algo/threshold_vote.hpp"
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
  /// About so many processes of a fleet stand.
  static constexpr double candidates = 8;
  /// They are drawn anew each time.
  static constexpr milliseconds term_of_draw{60'000};
  /// The pause after an election that the store refused.
  static constexpr milliseconds pause_of_trouble{5000};
  /// The pause where it may not be told of a grant.
  static constexpr milliseconds pause_of_polling{30'000};
  /// The pause of one whose reports or lists did not come back for three intervals.
  static constexpr milliseconds pause_of_lost_echo{60'000};

  using context_ptr = std::weak_ptr<detail::store_context>;

  /// The one of the store; made if there is none.
  static std::shared_ptr<store_collector> of(std::shared_ptr<store_core> const& home,
                                             context_ptr const& context);
  store_collector(std::shared_ptr<store_core> home, context_ptr context);
  ~store_collector() override;

  /// Stands in the election, or does not. To be called again and again by each cache. `processes`:
  /// those of its prefix, as a list says that holds.
  void stand(std::string_view prefix, std::uint64_t processes, clock::time_point now);
  /// A list that this process follows: what is hot by it stays hot if this process is elected.
  void follows(std::string_view prefix, algo::fleet_list const& list);
  /// A report of this process, under that number, is sent.
  void reported(std::string_view prefix, std::uint64_t process, clock::time_point now);
  /// The store has not taken one of them.
  void report_failed();
  /// Nobody here follows its lists any more.
  void leaves(std::string_view prefix);

  /// The trouble since this was last asked.
  struct trouble {
    std::uint64_t refused = 0;          ///< reports of the prefix, or malformed ones
    std::uint64_t unsent = 0;           ///< its lists that the store did not take
    std::vector<std::string> warnings;  ///< each is told once
  };
  trouble take_trouble(std::string_view prefix);

 private:
  class ear;
  struct fleet {
    std::string prefix;
    bool is_here = false;         // a cache of ours follows its lists
    std::uint64_t own = 0;        // the number of that one as a process
    std::uint64_t processes = 0;  // by a list that held
    clock::time_point stands{};   // when that was said
    algo::fleet_list followed{};
    std::uint64_t refused = 0, unsent = 0;
    algo::fleet_thresholds thresholds{};
    algo::threshold_vote votes{};
    clock::time_point counted{};
    std::optional<algo::fleet_collector> sums{};  // in a term, once somebody has reported
  };
  struct term_state {
    election_term const* of = nullptr;
    std::shared_ptr<ear> listener{};
    std::optional<clock::time_point> hears_since{};  // nothing: deaf
    std::uint64_t counter = 0;                       // the greatest of all lists
    std::size_t bytes = 0;                           // of all reports that are kept
    clock::time_point next = clock::time_point::max();
    algo::echo_watch hearing{}, reports{}, lists{};
  };
  struct draw {
    double part = 0;
    clock::time_point until{};
  };
  enum class warning { refused, echo };

  static asio::awaitable<void> collect(std::weak_ptr<store_collector> who, election_term& term);
  void on_campaign_ended(result<void> const& how);
  bool is_drawn(clock::time_point now);
  void withdraw(clock::time_point stands_again);
  void watch_echoes(clock::time_point now);
  void warn(warning what, std::string const& why);
  void begin_term(election_term const& term);
  void end_term();
  void on_listening();
  void on_deaf();
  void on_report(std::string_view text);
  algo::fleet_hearing hear(fleet& one, algo::addressed_report told, clock::time_point now);
  fleet* find(std::string_view prefix);
  fleet* fleet_of(std::string_view prefix);
  void drop_dead();
  void begin(fleet& one, algo::fleet_list before, clock::time_point since);
  void learn(fleet const& one);
  void on_due(clock::time_point now) override { publish(now); }
  void publish(clock::time_point now);
  void send(fleet& one, algo::fleet_list const& list);

  std::shared_ptr<store_core> const home_;
  context_ptr const context_;
  std::shared_ptr<detail::election_core> candidate_;  // null while it does not stand
  clock::time_point stands_again_{};
  draw draw_;
  std::list<fleet> fleets_;
  std::uint64_t malformed_ = 0;  // reports that say no prefix, not told yet
  std::vector<warning> warned_;
  std::vector<std::string> warnings_;  // not told yet
  term_state term_;
};

}  // namespace herdlock::runtime
