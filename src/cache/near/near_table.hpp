// The values of a near cache: what its machine admitted (algo/near_machine.hpp), as the program
// uses it, decoded and immutable, ready to be given to any number of threads.
//
// A hit looks into the thread's own cache, which has no lock, and then into a concurrent map, whose
// locks are held for some instructions. It does no I/O, and allocates only when its key gets a line
// of the thread's cache. Each thread has a handle of its own to what it hits most, so that threads
// on one key do not write to one reference count.
//
// All functions but the constructor and the destructor may be called by any thread at any time. An
// entry that was dropped or ended before a find() is not found by it. The value of a hit stays
// valid as long as the caller has it, also when the entry or the table is gone.
//
// A value's destructor runs where the last reference goes, in a function of the table or at a user,
// and never under a lock. It may call the table, but not its own table's destructor.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <boost/unordered/concurrent_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algo/near_actions.hpp"
#include "cache/near/left_values.hpp"
#include "cache/near/near_order.hpp"
#include "cache/near/near_record.hpp"
#include "cache/near/near_thread_cache.hpp"
#include "local/thread_number.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

struct near_table_options {
  std::size_t entries = 10'000;           ///< at most; 0: nothing is kept
  std::size_t bytes = 64 * 1024 * 1024;   ///< with near_table::entry_bytes for each
  std::size_t value_bytes = 1024 * 1024;  ///< of one value
  /// A key's slot in a cluster; none: no slots. Called by insert(), which throws what it throws.
  std::function<std::uint16_t(std::string_view key)> slot_of{};
  /// Is told of the hits of each key, those of a thread in sixteens; outlives the table. None:
  /// nobody is.
  hot_counter* uses = nullptr;
  /// Is told the keys of entries that make room while they could be served, under a lock of the
  /// table. Throws nothing. None: nobody is.
  std::function<void(std::string_view key)> evicted{};
};

/// The kind of look at the table.
enum class near_look {
  any,     ///< gets what is there
  loader,  ///< can load: nothing of what is due, and asks again as `first`
  first,   ///< the same, on one thread: the first one gets nothing of what is due, others all
};

struct near_value {
  std::shared_ptr<void const> value;  ///< null: the key is known to be missing
  std::size_t bytes = 0;              ///< those it takes, as its codec sees them
  /// Records from find_record(): the value is served while all of these are.
  near_supports supports = {};
  near_role role = near_role::entry;
  std::uint64_t fingerprint = 0;  ///< of what was stored; 0: not known
};

/// Why an entry goes.
enum class near_drop {
  changed,   ///< somebody has written the key, or may have
  unwanted,  ///< nobody has
};

/// The result of find().
struct near_hit {
  enum class found { nothing, value, negative };

  found what = found::nothing;
  std::shared_ptr<void const> value{};

  explicit operator bool() const noexcept { return what != found::nothing; }
  /// The value, which was inserted as a T. Null for a negative entry and for nothing.
  template <class T>
  std::shared_ptr<T const> as() && noexcept {
    return std::static_pointer_cast<T const>(std::move(value));
  }
};

struct near_table_counts {
  std::uint64_t hits = 0;
  std::uint64_t inserts = 0;
  std::uint64_t refused = 0;    ///< by insert()
  std::uint64_t evicted = 0;    ///< to make room, while they could be served
  std::uint64_t dropped = 0;    ///< by drop() as changed, drop_slot() and clear()
  std::uint64_t fallen = 0;     ///< found to rest on what is gone, and removed
  std::uint64_t unchanged = 0;  ///< inserted with the fingerprint that drop() took last
  std::size_t entries = 0;      ///< those included that are not served any more
  std::size_t bytes = 0;
  /// The earliest end of what is trusted until some time; nothing is: nothing.
  std::optional<clock::time_point> trusted_until{};
};

class near_table {
 public:
  /// The bytes that an entry counts beside its key and its value. A thread's handles (at most
  /// near_thread_cache::lines for each, of 200 bytes) do not count.
  static constexpr std::size_t entry_bytes = sizeof(near_record) + 128;
  /// Looks of one sweep().
  static constexpr std::size_t sweep_looks = 1000;

  explicit near_table(near_table_options options);
  /// Waits for nobody: no other function may be under way.
  ~near_table();
  near_table(near_table const&) = delete;
  near_table& operator=(near_table const&) = delete;

  /// An entry of the key that is served at `now`: now < min(its end, the trust of its generation).
  /// Never a near_role::support.
  /// `now` is the clock as it was read for this call.
  near_hit find(std::string_view key, clock::time_point now,
                near_look who = near_look::any) noexcept;

  /// Puts the value in the place of the key's old one, which goes in any case. False: it is not
  /// kept, for its generation is not trusted (never was, or ended), it has expired by `now`, or it
  /// is alone beyond the bounds. Evicts what was not hit lately. Throws std::bad_alloc; the old one
  /// may be gone then.
  bool insert(std::string_view key, algo::near_entry const& how, near_value what,
              clock::time_point now);

  /// The record of the key that is served at `now`, or null. It counts as no hit.
  near_record_ptr find_record(std::string_view key, clock::time_point now) const noexcept;

  void drop(std::string_view key, near_drop why = near_drop::changed) noexcept;
  /// Drops all keys of the slot; all keys of a table without slot_of.
  void drop_slot(std::uint16_t slot) noexcept;
  void clear() noexcept;

  /// Entries of the generation are served until then. Never after its end(). Throws std::bad_alloc.
  void trust(algo::near_generation generation, clock::time_point until);
  /// No entry of the generation is served any more, in one step. They go when their room is needed,
  /// and by sweep().
  void end(algo::near_generation generation) noexcept;

  /// Removes what has ended or expired by `now` among the next `sweep_looks` entries. To be called
  /// now and then: while there is room, nothing else frees their memory.
  void sweep(clock::time_point now) noexcept;

  /// The keys, of the next `looks` entries, that were hit since they were found here last; around
  /// and around. Takes what it looked at off `looks`, at most sweep_looks. Throws std::bad_alloc.
  std::vector<std::string> next_hits(clock::time_point now, std::size_t& looks);

  /// The number of entries that are there now; next_keys() begins with them.
  std::size_t judge_all() noexcept;
  /// The next `most` keys, served or not; around and around. Throws std::bad_alloc.
  std::vector<std::string> next_keys(std::size_t most);
  near_table_counts counts() const;

 private:
  struct hashed_key {
    std::string_view key;
    std::uint64_t hash;
  };
  struct hash_of {
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(hashed_key const& one) const noexcept { return one.hash; }
    std::size_t operator()(near_record_ptr const& one) const noexcept { return one->hash(); }
  };
  struct same_key {
    using is_transparent = void;
    // The set compares a byte of the hashes before; the rest would be one cache line more to read.
    bool operator()(hashed_key const& a, near_record_ptr const& b) const noexcept {
      return a.key == b->key();
    }
    bool operator()(near_record_ptr const& a, hashed_key const& b) const noexcept {
      return a->key() == b.key;
    }
    bool operator()(near_record_ptr const& a, near_record_ptr const& b) const noexcept {
      return a->key() == b->key();
    }
  };
  using slot_list = boost::intrusive::list<
      near_record, boost::intrusive::member_hook<near_record, near_hook, &near_record::in_slot>,
      boost::intrusive::constant_time_size<false>>;
  static constexpr std::size_t slot_lists = 1024;

  /// Records that have left the table under its lock; they go when this does, behind it.
  class leaving;

  hashed_key hashed(std::string_view key) const noexcept;
  near_record_ptr look_up(hashed_key const& which) const noexcept;
  near_thread_cache* own_cache() noexcept;
  void count_hit(near_thread_cache* own) noexcept;
  static bool lets_through(near_record const& record, clock::time_point now,
                           near_look who) noexcept;
  slot_list& list_of(std::uint16_t slot) noexcept { return slots_[slot % slot_lists]; }
  bool make_room(std::size_t bytes, clock::time_point now, leaving& out) noexcept;
  bool remove_some_of(std::uint16_t slot, leaving& out) noexcept;
  void remove(near_record& record, leaving& out) noexcept;
  void remove_gone(near_record& record, clock::time_point now, leaving& out) noexcept;
  void add(near_record_ptr const& record);

  near_table_options const options_;
  std::unique_ptr<slot_list[]> const slots_;  // by slot, modulo; null without slot_of
  boost::concurrent_flat_set<near_record_ptr, hash_of, same_key> records_;
  std::array<std::atomic<near_thread_cache*>, most_numbered_threads> caches_{};
  alignas(64) std::atomic<std::uint64_t> other_hits_{0};  // of threads without a number

  // Changes of the table are made one at a time.
  alignas(64) mutable std::mutex changes_;
  near_order order_;
  std::map<algo::near_generation, std::shared_ptr<near_trust>> trusted_;
  near_table_counts counts_;
  left_values left_;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
