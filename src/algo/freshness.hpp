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
#include <optional>
#include <string_view>

#include <herdlock/types.hpp>

#include "algo/key_records.hpp"

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

/// The caller who found an entry.
struct found_by {
  clock::duration least_head_start{0};  ///< the entry is early for so long before it expires
  std::optional<milliseconds> soft_timeout = std::nullopt;  ///< nothing: that of the options
};

/// A stale value in the hands of a caller who waits for a better one.
struct stale_copy {
  std::uint64_t kept_at = 0;
};

/// The way in which such a caller's wait ended.
enum class wait_end { value, error, soft_timeout };

/// The refreshes and failed loads of the keys of one cache. A key that is fresh and that nobody
/// works at costs nothing here. Where the table has no room for a key no refresh of it begins, and
/// a failure is not remembered. O(1) each.
class freshness_machine {
 public:
  /// `table` outlives this.
  freshness_machine(refresh_policy policy, key_records& table) : policy_(policy), table_(table) {}

  /// A caller found this entry.
  entry_use found(std::string_view key, entry_times const& times, clock::time_point now,
                  random_number random, found_by const& caller = {});
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
  /// invalidate, put: copies that callers keep, and reads that are under way, are dead, too.
  void invalidated(std::string_view key);

  /// A read of the key is sent. Returns its number; uncounted when there is no room.
  static constexpr std::uint64_t uncounted = ~std::uint64_t{0};
  std::uint64_t look_sent(std::string_view key);
  /// The read has ended. True when copies of the key died since: a stale entry that it found is no
  /// answer.
  bool look_over(std::string_view key, std::uint64_t sent);

  /// A caller waits softly with the value it read.
  stale_copy keep(std::string_view key, entry_times const& times, clock::time_point now);
  /// The wait has ended this way. True when the copy is the answer: not to a value, not to an error
  /// without fail_safe, and never when the key was invalidated since.
  bool wait_over(std::string_view key, stale_copy copy, wait_end how);

 private:
  entry_use begin_refresh(std::string_view key, entry_times const& times);
  entry_use use_of_stale(std::string_view key, entry_times const& times, milliseconds soft_timeout);
  void note_entry(std::string_view key, entry_times const& times);

  refresh_policy policy_;
  key_records& table_;
  std::uint64_t last_id_ = 0;
};

}  // namespace herdlock::algo
