// How a cache treats an entry by its age: serve it, refresh it behind the answer, or load first.
//
//            early (elected)      logical expiry         physical end
//   fresh ────────┆─────────────────────┼── grace ──────────┼──────▶
//   serve         serve and refresh     stale: see below    dead: load
//
//   stale                                        answer
//   ─────────────────────────────────────────    ------------------------------------------------
//   soft_timeout is 0, no load failed lately     the stale value; one refreshes behind it
//   soft_timeout is longer                       the new value, or the stale one after soft_timeout
//   a load failed lately, fail_safe              the stale value; nobody loads
//   a load failed lately, no fail_safe           what a load says, which is its error
//
// An early refresh is elected as XFetch does it: with the random number U it is due when
// now - beta * load_time * ln(U) reaches the expiry. Over a fleet that elects e^(1/beta) loads for
// each entry; the store's claim then admits one of them.
//
// Pure: no clock, no store; random numbers are arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <herdlock/types.hpp>

#include "algo/sweep_hand.hpp"

namespace herdlock::algo {

enum class freshness {
  fresh,
  early,  ///< fresh, and elected to be refreshed
  stale,  ///< past its logical expiry, and still there
  dead,   ///< nothing to serve
};

/// The times of one entry, on the clock of this process.
struct entry_times {
  /// When its load had ended, on the store's clock: it tells one entry of a key from the next, for
  /// the clocks of two processes differ. 0: not known.
  std::chrono::microseconds made{0};
  clock::duration load_time{0};  ///< how long the load of the value took
  clock::time_point expires;     ///< it is stale from here on
  clock::time_point ends;        ///< it is gone from here on
};

/// The number from which early refresh and back-off draw; uniform in [0, 1).
using random_number = double;

/// How long before an entry expires it is refreshed, as XFetch draws it.
clock::duration head_start_of(clock::duration load_time, double beta, random_number random);

/// How long before its end an entry is loaded anew that is not to end: two loads, or a tenth of
/// its ttl (a minute at most), whichever is longer; half of the ttl at most.
clock::duration safe_head_start(milliseconds ttl, clock::duration load_time);

/// How early a refresh begins: by the head start that is drawn, and so long at least.
struct earliness {
  double beta = 0;
  clock::duration least{0};
};

freshness freshness_of(entry_times const& times, clock::time_point now, earliness const& early,
                       random_number random);

struct failure_back_off {
  milliseconds first{1000};
  milliseconds most{1000};
};

/// How long nobody loads after so many failures in a row (1 for the first): doubled each time up to
/// `most`, then varied by ± 10 %. If `most` allows no growth it is `first` exactly.
milliseconds back_off_after(failure_back_off const& limits, std::uint32_t failures,
                            random_number random);

/// When a refresh begins, who waits for it, and when it is tried again.
struct refresh_policy {
  double early_refresh = 0;  ///< beta
  /// How long a caller waits for the new value before the stale one is its answer.
  milliseconds soft_timeout{0};
  bool fail_safe = false;  ///< a stale value is better than the error of a load
  failure_back_off back_off;
  /// A refresh that another process has claimed is not asked for again before this has passed.
  milliseconds busy_pause{50};
};

/// The use that a caller with a loader makes of the entry that was read.
enum class entry_use {
  serve,
  serve_and_refresh,  ///< and this caller's loader runs behind the answer: refresh_id() names it
  wait_softly,        ///< join or begin the load; the stale value is the answer after soft_timeout
  load,               ///< as for a miss
};

/// A stale value in the hands of a caller who waits for a better one.
struct stale_copy {
  std::uint64_t kept_at = 0;
};

/// The way in which such a caller's wait ended.
enum class wait_end { value, error, soft_timeout };

/// The keys of one cache: who refreshes them, and whether their loads fail. A key that is fresh and
/// that nobody works at costs nothing here. At most `most_keys` are remembered: beyond that each
/// new key looks at a few of them, and where none of these may be forgotten no refresh begins, and
/// a failure is not remembered. O(log n) each.
class freshness_machine {
 public:
  explicit freshness_machine(refresh_policy policy, std::size_t most_keys = 65'536)
      : policy_(policy), most_keys_(most_keys) {}

  /// A caller found this entry. It is early for `least_head_start` before it expires, in any case.
  entry_use found(std::string_view key, entry_times const& times, clock::time_point now,
                  random_number random, clock::duration least_head_start = {});
  /// Nobody asked for the entry, but its refresh may be due: it is due for a stale entry that
  /// nobody works at, and whose load did not fail lately.
  entry_use found_by_schedule(std::string_view key, entry_times const& times,
                              clock::time_point now);
  /// The number of the last serve_and_refresh; never 0. An end that names an older refresh of the
  /// key changes nothing: an invalidate or expire has come between.
  std::uint64_t refresh_id() const noexcept { return last_id_; }

  /// The refresh is over, however it went: the next may begin after busy_pause.
  void refresh_ended(std::string_view key, std::uint64_t refresh, clock::time_point now);

  // How any load of the key went, refresh or not.
  void load_succeeded(std::string_view key);
  /// Our own load failed: for how long nobody is to load.
  milliseconds load_failed(std::string_view key, clock::time_point now, random_number random);
  /// Another's load failed, the last of so many in a row; its error answers until then.
  void told_of_failure(std::string_view key, std::uint32_t failures, clock::time_point now,
                       clock::time_point until);
  std::uint32_t failures(std::string_view key) const;

  /// expire: what is being loaded is out of date; the stale copy may be served.
  void expired(std::string_view key);
  /// invalidate, put: copies that callers keep are dead, too.
  void invalidated(std::string_view key);

  /// A caller waits softly with the value it read.
  stale_copy keep(std::string_view key, entry_times const& times, clock::time_point now);
  /// The wait has ended this way. True when the copy is the answer: not to a value, not to an error
  /// without fail_safe, and never when the key was invalidated since.
  bool wait_over(std::string_view key, stale_copy copy, wait_end how);

  std::size_t keys() const noexcept { return keys_.size(); }
  /// How many keys have been looked at to make room for others: sweep_hand::looks for each at most.
  std::size_t looked_for_room() const noexcept { return hand_.looked(); }

 private:
  struct key_state {
    std::uint64_t refresh = 0;          // the one that is under way; 0: none
    clock::time_point not_before{};     // no refresh until then
    clock::time_point failing_until{};  // the error of a load is everyone's answer until then
    std::uint32_t failures = 0;
    std::chrono::microseconds made{0};  // the entry that was found last
    std::uint64_t killed_at = 0;        // copies that were kept before are dead
    std::size_t kept = 0;

    void succeeded() noexcept {
      failures = 0;
      failing_until = {};
    }
    bool idle(clock::time_point now) const noexcept {
      return refresh == 0 && failures == 0 && kept == 0 && not_before <= now;
    }
  };
  using key_map = std::map<std::string, key_state, std::less<>>;

  entry_use begin_refresh(std::string_view key, entry_times const& times, clock::time_point now);
  entry_use use_of_stale(std::string_view key, entry_times const& times, clock::time_point now);
  void note_entry(std::string_view key, entry_times const& times, clock::time_point now);
  key_state* find(std::string_view key);
  /// Null when there is no room.
  key_state* make(std::string_view key, clock::time_point now);
  void forget_some(clock::time_point now);

  refresh_policy policy_;
  std::size_t most_keys_;
  std::uint64_t last_id_ = 0;
  std::uint64_t sequence_ = 0;
  key_map keys_;
  sweep_hand hand_;
};

}  // namespace herdlock::algo
