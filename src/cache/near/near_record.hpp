// One entry of the near table, and the handles to it.
//
//   table ──▶ record ◀── handle of thread 1 ◀─ ─ ─ line of thread 1's cache (weak)
//                │   ◀── handle of thread 2 ◀─ ─ ─ line of thread 2's cache (weak)
//                └─────▶ both handles, until the record leaves the table
//
// A handle is a shared_ptr with a control block of its own. So threads that hit the same key count
// their references in different cache lines, and all handles keep the same record. The record owns
// the handles and the lines do not: when it leaves the table its value is free at once, unless a
// user has it, however long ago its threads have looked last.
//
// A record may rest on others, as an entry does on those of its tags: it is served while each of
// them is. So what ends one of them ends any number of records in one step, and nobody lists them.
// Why: docs/decisions/near-cache.md#near-hits-count-references-apart
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/intrusive/list_hook.hpp>
#include <cstddef>
#include <cstdint>
#include <herdlock/types.hpp>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "local/shard_lock.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

/// Until when the entries of a generation may be served. Each hit reads it: alone in its line.
struct alignas(64) near_trust {
  static constexpr clock::time_point ended = clock::time_point::min();

  std::atomic<clock::time_point> until{ended};
};

class near_record;
using near_record_ptr = std::shared_ptr<near_record>;
using near_handle = std::shared_ptr<near_record const>;
/// Records that another one rests on; these rest on none.
using near_supports = std::vector<near_record_ptr>;
using near_hook =
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;

/// The purpose of a record.
enum class near_role : std::uint8_t {
  entry,    ///< its value is given to who asks for its key
  support,  ///< others rest on it; nobody is given its value, which has a type of its own
};

/// The parts of a record.
struct near_content {
  std::string key;
  std::uint64_t hash;
  std::shared_ptr<void const> value;  ///< null: the key is known to be missing
  std::size_t bytes;                  ///< of all of it
  std::uint16_t slot;                 ///< of a cluster
  clock::time_point expires;
  clock::time_point due;
  std::shared_ptr<near_trust const> trust;
  near_supports supports = {};
  near_role role = near_role::entry;
  std::uint64_t fingerprint = 0;  ///< of the value, as it was stored; 0: not known
};

/// A hit reads one cache line that is hardly ever written. The table's lock guards some members;
/// everything else may be called by any thread.
class near_record {
 public:
  explicit near_record(near_content what) noexcept
      : is_{what.role, !what.supports.empty()},
        due_before_(before(what.expires, what.due)),
        expires_(what.expires),
        until_(&what.trust->until),
        key_(std::move(what.key)),
        value_(std::move(what.value)),
        trust_(std::move(what.trust)),
        supports_(std::move(what.supports)),
        for_table_{what.hash, what.fingerprint, what.bytes, what.slot} {}

  std::string_view key() const noexcept { return key_; }
  std::uint64_t hash() const noexcept { return for_table_.hash; }
  std::uint64_t fingerprint() const noexcept { return for_table_.fingerprint; }
  std::size_t bytes() const noexcept { return for_table_.bytes; }
  std::uint16_t slot() const noexcept { return for_table_.slot; }
  near_role role() const noexcept { return is_.role; }
  void const* value() const noexcept { return value_.get(); }

  bool served(clock::time_point now) const noexcept {
    // 1. A push drops this record. 2. The PONG behind it prolongs the trust. A thread that sees 2
    // sees 1: the time is read first, and acquires what was done before it was set.
    auto const until = until_->load(std::memory_order_acquire);
    if (now >= std::min(until, expires_) || !live_.load(std::memory_order_relaxed)) return false;
    return !is_.rests || is_supported(now);
  }

  /// Whether a look is to be let through.
  bool due(clock::time_point now) const noexcept {
    auto const before_end = due_before_.load(std::memory_order_relaxed);
    return before_end != 0 && expires_ - now <= milliseconds(before_end);
  }
  /// A look was let through: the next one after a while, should this record still be here.
  void let_through(clock::time_point now) const noexcept {
    due_before_.store(before(expires_, now + pause_of_looks), std::memory_order_relaxed);
  }

  /// Whether it will not be served any more, however long its generation is trusted.
  bool gone(clock::time_point now) const noexcept { return has_ended(now) || has_fallen(now); }
  /// The record would still be served, if what it rests on were.
  bool has_fallen(clock::time_point now) const noexcept {
    auto const is_gone = [now](near_record_ptr const& one) {
      return !one->live_.load(std::memory_order_relaxed) || one->has_ended(now);
    };
    return is_.rests && !has_ended(now) && std::any_of(supports_.begin(), supports_.end(), is_gone);
  }

  /// The record was hit. Written once between two looks, so that hits share the line.
  void visit() const noexcept {
    if (marks_.load(std::memory_order_relaxed) != all_marks) {
      marks_.store(all_marks, std::memory_order_relaxed);
    }
    // Supports make no room before what rests on them, and the server is told that they are in use.
    if (!is_.rests) return;
    for (near_record_ptr const& one : supports_) one->visit();
  }
  /// Whether something may rest on it: others than the table have it. Under the table's lock.
  bool is_needed() const noexcept {
    return is_.role == near_role::support && self.use_count() > references_of_table;
  }
  /// Whether it was hit since the last call.
  bool take_visit() noexcept { return take_mark(for_eviction); }
  /// The same for another caller: each has a mark of its own.
  bool take_use() noexcept { return take_mark(for_use); }

  /// The thread's handle; made if it has none. Null: the record has left the table, or another
  /// thread is in here. Throws std::bad_alloc.
  static near_handle handle(near_record_ptr const& self, std::size_t thread);
  /// Moves the thread's handle to the caller, if there is one. False: another thread is in here.
  bool take_handle(std::size_t thread, near_handle& out) const noexcept;

  /// The record leaves the table: it is not served any more.
  void close() noexcept { live_.store(false, std::memory_order_relaxed); }
  /// To be called after close(), once and not under a lock: the value may go here, and its
  /// destructor is code of a user. No handle is made afterwards.
  void release_handles() noexcept;

  // The table's lock guards where the record stands in the table, which keeps it alive there.
  near_record_ptr self;
  near_hook in_order;
  near_hook in_slot;

 private:
  static constexpr std::uint8_t for_eviction = 1, for_use = 2, all_marks = 3;
  static constexpr milliseconds pause_of_looks{50};
  static constexpr long references_of_table = 2;  // its set's and `self`

  /// 0 if `time` is not before `end`.
  static std::uint32_t before(clock::time_point end, clock::time_point time) noexcept {
    constexpr milliseconds most{std::numeric_limits<std::uint32_t>::max()};
    if (time >= end) return 0;
    auto const left = std::chrono::duration_cast<milliseconds>(end - time);
    return static_cast<std::uint32_t>(std::min(left, most).count());
  }

  bool has_ended(clock::time_point now) const noexcept {
    return expires_ <= now || until_->load(std::memory_order_relaxed) == near_trust::ended;
  }

  bool is_supported(clock::time_point now) const noexcept {
    return std::all_of(supports_.begin(), supports_.end(),
                       [now](near_record_ptr const& one) { return one->served(now); });
  }

  bool take_mark(std::uint8_t mark) noexcept {
    if ((marks_.load(std::memory_order_relaxed) & mark) == 0) return false;
    marks_.fetch_and(static_cast<std::uint8_t>(~mark), std::memory_order_relaxed);
    return true;
  }

  struct kind {
    near_role role;
    bool rests;  // on others
  };
  struct in_table {
    std::uint64_t hash;
    std::uint64_t fingerprint;
    std::size_t bytes;
    std::uint16_t slot;
  };
  struct owned_handle {
    std::size_t thread;
    near_handle handle;
  };
  struct handle_list {
    shard_lock lock;
    std::vector<owned_handle> all;
  };

  alignas(64) std::atomic<bool> live_{true};
  mutable std::atomic<std::uint8_t> marks_{0};
  kind const is_;
  mutable std::atomic<std::uint32_t> due_before_;  // the end, in ms; 0: never
  clock::time_point const expires_;
  std::atomic<clock::time_point> const* const until_;
  std::string const key_;
  std::shared_ptr<void const> const value_;

  std::shared_ptr<near_trust const> const trust_;
  near_supports const supports_;
  in_table const for_table_;
  mutable handle_list handles_;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
