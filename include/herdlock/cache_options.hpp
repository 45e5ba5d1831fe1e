// The options of a guarded cache, and its statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/cache_events.hpp>
#include <herdlock/hot_keys.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// How an entry lies in the store.
enum class cache_format {
  /// The value alone, as the codec makes it: other programs can read and write it. It has no times
  /// of its own, so it is there or not.
  plain,
  /// With a small header (in front of a string, a field of its own in a hash) that says when it was
  /// made and when it becomes stale. A cache of one format takes an entry of the other for a miss,
  /// and overwrites it.
  framed,
};

/// Which values a process keeps, decoded, to answer without asking the store. What somebody changes
/// is dropped when the server says so.
enum class near_cache {
  off,
  hot,  ///< those of hot keys (hot_options::keys), and of pinned ones (cache::pin, and by a rule)
  all,  ///< whatever was read last
};

/// Says whether a cache obeys the rules that people make for its keys (herdlock/hot_rules.hpp).
enum class key_rules { off, on };

/// For cache_options::ttl: the entry does not end by itself, but for a store's longest ttl, a year
/// after it was stored last. It stays until invalidate, or until the store evicts it.
inline constexpr milliseconds lasting = milliseconds::max();

/// For cache_options::prefix: none, on purpose. A key of the cache and a lock of the same name then
/// get in each other's way. (A text that is no prefix: so an empty one is never taken for it.)
inline std::string const no_prefix{"\0none", 5};

/// When a stale entry is a good answer. It needs framed entries (cache_options::format).
struct freshness_options {
  /// How long an entry is kept behind its ttl: it is stale then, and answers while it is loaded
  /// anew: behind an answer by the cache's own loader, else by the one call of the fleet that waits
  /// for its own. 0 for not at all.
  milliseconds grace{0};
  /// A stale entry is a better answer than the error of its load. It needs a grace, or
  /// lasting_options::refresh_every.
  bool fail_safe = false;
  /// How long a caller who finds a stale entry waits for the new one: after that the stale one is
  /// its answer, and the load goes on: by the cache's own loader, without which calls that bring
  /// theirs are refused (errc::invalid_value). 0: it does not wait. Less than `wait`; wait_forever,
  /// which needs fail_safe and no such loader: only an error or the end of `wait` makes the stale
  /// one its answer. It needs what fail_safe needs.
  milliseconds soft_timeout{0};
  /// When loads of a key fail in a row, error_back_off is doubled each time up to this, give or
  /// take a tenth; a success ends that. 0: it does not grow.
  milliseconds max_error_back_off{0};
};

/// Entries that do not end: what holds where cache_options::ttl is `lasting`.
struct lasting_options {
  /// How often each of them is loaded anew, by one process of the fleet, while its value answers;
  /// give or take ttl_jitter. 0: by put and invalidate only. Up to 90 days. It needs framed
  /// entries, and a loader that the cache owns, without which calls that bring theirs are refused
  /// (errc::invalid_value): that loads the key again, in the process that loaded it, until the
  /// entry is invalidated, missing, or "no such thing", or the cache goes. Keys that no living
  /// process has loaded are loaded anew behind the answer of the next caller.
  milliseconds refresh_every{0};
  /// The entries that this cache object has stored and not invalidated, at most: what never ends
  /// fills the memory. Beyond that put is refused with errc::overloaded, and a loaded value answers
  /// as one that cannot be stored. What another process has stored is refreshed even so. 1 or more.
  std::size_t max_entries = 10'000;
  /// The same in bytes, those of limits::max_value_bytes.
  std::size_t max_bytes = 64 * 1024 * 1024;
};

/// The values that this process keeps, decoded, beside the store.
struct near_options {
  /// Anything but `off` needs a store whose server pushes changes (Redis 7.0 or newer, Valkey) and
  /// keeps the claims, too: a cache that says so elsewhere is refused. Nothing: `off`; but `hot`
  /// where hot_options names `keys` or `rules` and it can be, and then a server that refuses to
  /// push is no reason for a warning. memory: has no use for it.
  std::optional<near_cache> mode = std::nullopt;
  /// The bound of kept values; those that were not asked for lately make room. Pinned keys are no
  /// more than that, either. 1 or more. A value that a tag has ended counts until it is swept; the
  /// ended records of its tags, limits::max_tags + 1 for each entry at most, do not.
  std::size_t entries = 10'000;
  /// The same in bytes: those of limits::max_value_bytes, with the key and some 300 for each.
  std::size_t bytes = 64 * 1024 * 1024;
  /// A value with more bytes is not kept: each process would have it, and read it again at each
  /// change. What is above `bytes` never is.
  std::size_t max_value_bytes = 1024 * 1024;
  /// A value is read again when it has been kept for so long; 0: only at the end of its ttl.
  milliseconds max_age{0};
  /// How long values are kept, whoever changes them, if the server refuses to push (a proxy, an
  /// ACL). 0: they are not kept then.
  milliseconds untracked_age{0};
  /// How old a kept value can be after somebody has changed it, at most, when the server's word
  /// does not come through. Each connection is asked for a sign of life at a third of that.
  milliseconds max_staleness = std::chrono::seconds(1);
};

/// Keys that are read much more often than others: who finds them, and who is told.
struct hot_options {
  /// Which keys are hot in this process; counted for each call, however it is answered. While a key
  /// is hot and `near` is not `off`, it is kept here, and one call of the fleet loads it anew
  /// shortly before its entry ends, so it does not end. Behind its answer by the cache's own
  /// loader; without one that call waits for its own load; should that fail, or another process be
  /// at it, it has the value that is there. Callbacks are called on the store's executor and must
  /// not block; none is called once the last copy of the cache has gone, which waits for one that
  /// runs on another thread. Some 250 KB for each cache, from its first call on, and 90 KB for each
  /// further thread that asks it, up to 8. Nothing, the default: no key is counted.
  std::optional<hot_keys_options> keys = std::nullopt;
  /// With keys: reads a second of all processes together from which a key is hot in each of them;
  /// and what is hot in one of them is hot in all. So they report to each other their keys that are
  /// read often, over the store: one command a second while there are such keys, twelve at most.
  /// Over Redis by a connection for that alone, to one of them that they elect, which tells all
  /// what is hot (docs/guide/hot-key-fleets.md). Over SQLite each hears all; over memory the caches
  /// of a process do. 1 to 1e12; 0: nobody reports.
  double fleet_threshold = 10'000;
  /// `on`: the cache obeys the rules for its keys, from its first call on (at once where the cache
  /// has a loader of its own). Over Redis it then subscribes to one channel, and reads the rules
  /// once a minute; over SQLite the file is asked once a second. `keep` is for keys that are
  /// counted (keys). A store that keeps no rules (all but Redis, Valkey, SQLite, memory) is
  /// refused.
  key_rules rules = key_rules::off;
};

/// Entries that end together. It needs framed ones (cache_options::format).
struct tag_options {
  /// The tags of a key, by which cache::invalidate_tag and cache::expire_tag end all entries that
  /// have one: called with the key without the prefix, on the store's executor, before each load
  /// and put; for one key it has to give the same each time. At most limits::max_tags; more of
  /// them, a name that is none, and what it throws are the error of that load or put. Processes
  /// without it heed the tags of what they read as well.
  std::function<std::vector<std::string>(std::string_view key)> of = {};
  /// For so long what was read of a tag in the store answers for the entries that agree with it:
  /// how old an entry can be after another process has ended its tag. 0 to a year; 0: each read of
  /// such an entry asks for its tags, too. Entries that are kept in the process are as old as
  /// near_options::max_staleness or untracked_age says.
  milliseconds max_age{1000};
  /// Each entry has one tag more, by which cache::clear() ends all of them. What a cache without
  /// this has stored is a miss.
  bool clearable = false;
};

/// The bounds of one cache object: of the work that it does at a time, and of what it remembers.
/// Each is 1 or more.
struct load_bounds {
  /// Loads at once; further ones queue until their callers' deadlines.
  std::size_t max_loads = 64;
  /// The same while the store fails. This is what then reaches the database, per process.
  std::size_t max_loads_without_store = 8;
  /// Callers at once; beyond it errc::overloaded.
  std::size_t max_waiting = 1'000'000;
  /// Bytes that a process remembers of keys, 65,536 or more: loads that run, failures and their
  /// pauses, answers that are in no store. Beyond it the oldest of these go, but for keys that are
  /// being loaded and lasting entries; when only such are left, a load of one more key is
  /// errc::overloaded. What a key costs: docs/guide/sizing.md.
  std::size_t max_known_bytes = 64 << 20;
};

/// The options of a cache. A feature that they do not name is off: by default no key is counted,
/// nothing is kept in the process, nobody subscribes, and no process reports to another. For where
/// to begin see herdlock/cache_presets.hpp.
///
/// All durations, also of the groups, 10 ms to a year unless said otherwise; checked by the cache's
/// constructor, whose error names the option as it is written: "freshness.grace".
struct cache_options {
  /// Put in front of every key; counts towards limits::max_name_bytes. A cache in Redis needs one
  /// that no lock's name begins with, since locks and entries share the server's keys; `no_prefix`
  /// says that there are no such locks. Without it the constructor throws errc::invalid_name.
  std::string prefix = {};
  /// How long a value is kept; `lasting` for as long as can be.
  milliseconds ttl = std::chrono::minutes(5);
  /// The ttl varies by ± this share, so that what was filled together does not expire together.
  /// 0 to less than 1.
  double ttl_jitter = 0.1;
  /// How long "there is no such thing" is kept; 0 keeps it not at all. Either way a value that was
  /// there is gone.
  milliseconds negative_ttl = std::chrono::seconds(10);
  /// How long a key waits for a loader that died. Renewed while a loader lives, so a load may take
  /// longer than this.
  milliseconds claim_ttl = std::chrono::seconds(5);
  /// After this the claim of a loader that is still running is not renewed any more: it is asked to
  /// stop (load_context::stop) and another may load. A loader that hangs holds up its key for no
  /// longer.
  milliseconds max_load_time = std::chrono::minutes(5);
  /// Deadline of one get_or_load, from 1 ms; wait_forever for none. A call whose own loader runs by
  /// then ends when that has ended.
  milliseconds wait = std::chrono::seconds(30);
  /// How long the error of a failed load answers everyone before the next load is tried; 0 shares
  /// it only with those who are waiting in this process. For as long a value that cannot be stored
  /// (too large, or it does not encode) is given again in this process before it is loaded anew.
  milliseconds error_back_off = std::chrono::seconds(1);
  /// All processes of a cache name the same. `framed`, and what needs it (`freshness`,
  /// `lasting.refresh_every`, `tags`), needs values and claims in one store.
  cache_format format = cache_format::plain;
  /// Above 0, an entry is loaded anew shortly before its ttl ends: the more often it is asked for
  /// and the longer its load takes, the earlier (XFetch, with this beta; 1 is a good value). One
  /// load for the fleet, behind an answer by the cache's own loader, so nobody waits for it;
  /// without one the call that refreshes waits for its own. Of a plain entry each
  /// process asks the store once for its end, and takes its own last load for the time that a load
  /// takes. 0 to 10. Needs values and claims in one store.
  double early_refresh = 0;
  freshness_options freshness{};
  lasting_options lasting{};
  near_options near{};
  hot_options hot{};
  tag_options tags{};
  load_bounds bounds{};
  observer_options observer{};
};

/// Counts since the cache was made. Each caller of get_or_load is counted once among near_hits,
/// hits, negative_hits and misses; those who join a running load are misses.
struct cache_stats {
  std::uint64_t hits = 0;           ///< answered by the first plain read
  std::uint64_t negative_hits = 0;  ///< the same, with a negative entry
  std::uint64_t stale_hits = 0;     ///< of both: the entry was stale
  std::uint64_t misses = 0;
  std::uint64_t loads_now = 0;          ///< calls of load_now, which are neither hits nor misses
  std::uint64_t joined = 0;             ///< of both: answered by a load that another began here
  std::uint64_t loads = 0;              ///< loaders run, of all kinds
  std::uint64_t unguarded_loads = 0;    ///< of these, without the store
  std::uint64_t load_errors = 0;        ///< loaders that threw
  std::uint64_t shared_errors = 0;      ///< errors of another's load that answered a load here
  std::uint64_t refreshes = 0;          ///< loads behind an answer that were asked for
  std::uint64_t refused_refreshes = 0;  ///< of these, not begun: another was at it, or had been
  std::uint64_t soft_timeouts = 0;      ///< misses that soft_timeout gave the stale entry
  std::uint64_t stale_after_error = 0;  ///< misses that had the stale entry instead of an error
  std::uint64_t superseded = 0;         ///< loaded values that a newer put, invalidate or load beat
  /// Loaded values over a limit, that did not encode, or that the loader did not want stored.
  std::uint64_t unstorable = 0;
  std::uint64_t not_modified = 0;        ///< loads that kept the value that was there
  std::uint64_t undecodable = 0;         ///< stored entries that did not decode
  std::uint64_t ended_by_tags = 0;       ///< stored entries that were read, and a tag had ended
  std::uint64_t store_errors = 0;        ///< operations of the store that failed
  std::uint64_t overloaded = 0;          ///< callers turned away at max_waiting
  std::uint64_t timed_out = 0;           ///< callers whose deadline passed
  std::uint64_t canceled = 0;            ///< callers who cancelled, or whose cache was destroyed
  std::uint64_t events_dropped = 0;      ///< for which the observer had no room
  std::uint64_t lasting_entries = 0;     ///< now: lasting entries stored here and not invalidated
  std::uint64_t lasting_bytes = 0;       ///< now: of their values
  std::uint64_t near_hits = 0;           ///< answered by what this process keeps, of both kinds
  std::uint64_t near_inserts = 0;        ///< entries that were read and kept
  std::uint64_t near_refused = 0;        ///< read to be kept, and changed first, or too large
  std::uint64_t near_evicted = 0;        ///< of those kept, to make room
  std::uint64_t near_invalidations = 0;  ///< of those kept, dropped since somebody changed them
  std::uint64_t near_ended_by_tags = 0;  ///< of those kept, gone with the record of a tag
  /// Kept values, of the last 512 that somebody changed, that were read again as they had been.
  std::uint64_t near_unchanged = 0;
  std::uint64_t near_fences = 0;
  /// Keys of all kinds that servers evicted, from when something is kept here on. Counted once for
  /// a store, by one of its caches.
  std::uint64_t near_server_evictions = 0;
  std::uint64_t near_entries = 0;  ///< now
  std::uint64_t near_bytes = 0;    ///< now
  /// Now: connections whose server does not push, for each cache of the store. What is read over
  /// them is not kept, or for near_options::untracked_age.
  std::uint64_t near_links_refused = 0;
  /// Now: since the connection that was proved longest ago was. Beyond max_staleness nothing that
  /// was read over it is served.
  std::uint64_t near_proof_age_ms = 0;
  std::uint64_t became_hot = 0;             ///< keys, by what this process has counted
  std::uint64_t cooled = 0;                 ///< of these
  std::uint64_t hot = 0;                    ///< of these, now
  std::uint64_t fleet_hot = 0;              ///< keys that are hot for all processes, now
  std::uint64_t fleet_reports = 0;          ///< told to other processes
  std::uint64_t fleet_report_errors = 0;    ///< of these, the store did not take
  std::uint64_t fleet_reports_refused = 0;  ///< of others: malformed, cut, or not to be believed
};

}  // namespace v0
}  // namespace herdlock
