// The two ports that a backend implements. Everything above them is written once for all stores.
// For those who write a store; users of locks, elections and caches need none of it. The ports
// complete with a result<T>; the public operations above them with `void(failure, T)`.
//
// Rules for every operation of both ports:
//  * One server step. Atomic at the server; a retry with the same owner token returns the first
//    answer (acquire and claim are idempotent by owner).
//  * Called on the executor that the store was opened with, which runs one handler at a time.
//  * The handler is called exactly once, never from inside the call, within the store's command
//    timeout (plus `wait` where the request has one): with errc::timed_out or errc::unavailable
//    at the latest. After such a failure the outcome at the server is unknown; the caller cleans
//    up with release() or fail().
//  * Cancellation: the handler's slot is honoured for all cancellation types, and is emitted on
//    the store's executor. A cancelled operation completes with errc::canceled, or with its result
//    when the two cross; after errc::canceled the outcome is unknown, as above.
//  * Expiry is judged by the store's clock. No operation compares a client's wall clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <herdlock/detail/async.hpp>
#include <herdlock/error.hpp>
#include <herdlock/inspect.hpp>
#include <herdlock/store_warnings.hpp>
#include <herdlock/types.hpp>
#include <herdlock/value.hpp>

namespace herdlock {
inline namespace v0 {

class report_store;    // herdlock/report_store.hpp
class rules_store;     // herdlock/rules_store.hpp
class tracking_store;  // herdlock/tracking_store.hpp

// ---------------------------------------------------------------------------------- leases

struct acquire_request {
  resource name;
  owner_token owner;
  milliseconds ttl;
  /// How long the store itself may queue the request. A store without a queue ignores it and
  /// answers busy at once; the runtime then backs off and asks again.
  milliseconds wait{0};
};

/// The time that a grant proves: `ttl` from `since` on, a time at which it had not been given.
struct grant_validity {
  clock::time_point since;
  milliseconds ttl;
};

/// We hold it. `fencing` is greater than any token granted for this resource before.
struct grant {
  fencing_token fencing;
  /// The time that it proves. Without one: the ttl asked for, from before the request on. A store
  /// that answers with a grant that is older, or that was pushed to a waiter for a shorter time at
  /// first, says so here; the runtime renews it in time.
  std::optional<grant_validity> validity{};
};

/// Another holds it.
struct busy {
  std::string holder;      ///< label of the holder, for people; may be empty
  milliseconds remaining;  ///< until it expires if nobody renews it; 0 when unknown
};

using acquire_reply = std::variant<grant, busy>;

/// A lease that ended before its time: the session on the server that it stood on has ended.
struct lease_end {
  resource name;
  owner_token owner;
  std::string why;  ///< a clause: "its session has ended"
};

/// A lease that its holder leaves behind, see lease::leave.
struct leave_request {
  resource name;
  owner_token owner;
  owner_token left_to;  ///< the owner from now on
  milliseconds ttl;     ///< the time left from now on, also where it was more
};

/// Leases by owner token. See the rules at the top of this file.
class lease_store {
 public:
  virtual ~lease_store() = default;

  /// Grants the resource to the owner for ttl, or says who has it. Asking again with the owner
  /// that already holds it returns the same grant and does not prolong it.
  virtual void acquire(acquire_request request, handler<acquire_reply> done) = 0;

  /// Sets the time left to ttl if the owner still holds the resource; never takes it anew.
  virtual void renew(resource name, owner_token owner, milliseconds ttl,
                     handler<renew_reply> done) = 0;

  /// Gives the resource up if the owner still holds it; never touches another's.
  virtual void release(resource name, owner_token owner, handler<release_reply> done) = 0;

  /// Gives the lease to the owner `left_to` for ttl, if `owner` still holds it: in one step, in
  /// which nobody else gets it. Asked again, the answer is `released` while `left_to` holds it.
  /// Only asked of stores with store_traits::leaves_leases.
  virtual void leave(leave_request request, handler<release_reply> done);

  /// Whom to tell of leases that end with a session, as soon as the store sees it. Once, before any
  /// request. Called on the executor, in an event of its own, behind the answer that granted the
  /// lease; a lease that was released meanwhile may be told of, too. It is never called if leases
  /// stand on no session.
  virtual void on_lease_end(std::function<void(lease_end const&)> told) { static_cast<void>(told); }

  /// Whom to tell when a connection over which leases were granted or renewed has come up anew,
  /// whatever answers there: it may be another server, or one that has forgotten. The runtime then
  /// renews what it holds. Once, before any request. Called on the executor, in an event of its
  /// own. It is never called if leases stand on a session, which tells by on_lease_end().
  virtual void on_new_connection(std::function<void()> told) { static_cast<void>(told); }

  /// True while this process waits for the resource and the store refuses to tell it of a grant, so
  /// that it asks again and again. On the executor.
  virtual bool polls(resource const& name) const { return static_cast<void>(name), false; }

  /// False when no request of this store, for leases or for values, has ever been sent to a server,
  /// which is certain: then nothing is left there, and closing waits for nothing. On the executor.
  virtual bool may_have_sent() const { return true; }

  /// The present holder; nothing when the resource is free.
  virtual void inspect(resource name, handler<std::optional<lease_info>> done) = 0;

  /// Takes the resource from whoever holds it (`lost` when nobody did). An operator's last resort.
  virtual void force_release(resource name, handler<release_reply> done) = 0;

  /// Names that are held, in parts, each found by a bounded piece of work at the server. A resource
  /// that is held from the first part to the last is in one of them, or in several; one that is
  /// acquired or released meanwhile may be there or not; one that was free before the first is not.
  /// In no order. errc::invalid_value for a cursor that no page gave; errc::not_supported where the
  /// store cannot tell its leases from other data.
  virtual void list(list_request request, handler<lease_page> done) = 0;
};

/// The limit of a request, put within its bounds.
inline std::size_t page_size(list_request const& request) {
  return std::clamp<std::size_t>(request.limit, 1, limits::max_page);
}

// ---------------------------------------------------------------------------------- cache

/// The bytes that limits::max_value_bytes counts: of a string, or of all names and contents of a
/// hash with 8 for each field.
std::size_t value_bytes(cache_value const& value) noexcept;
/// errc::invalid_value when the value is over the limit.
failure check_value(cache_key const& key, cache_value const& value);
/// errc::wrong_type when the value is kept in the other layout; a negative entry fits both.
failure check_layout(cache_key const& key, cache_value const& value, layout form);

/// Nothing is a miss.
using cache_lookup = std::optional<cache_value>;

struct claim_request {
  cache_key key;
  owner_token owner;
  milliseconds ttl;  ///< of the claim: how long the key waits for a loader that died
  layout form = layout::string;
  /// 0: an entry that is there answers, however old it is. Else one with less time left than this
  /// does not: the key is claimed beside it, to be refreshed. 0 to limits::max_ttl, else
  /// errc::invalid_ttl.
  milliseconds refresh_below{0};
};

struct cache_hit {
  cache_value value;
};
struct claimed {
  fencing_token fencing;
};
struct claim_busy {
  milliseconds remaining;
};
/// The last load failed a moment ago; its error is everyone's answer until the back-off ends.
struct load_backing_off {
  std::string error;
  milliseconds remaining;
};

using claim_reply = std::variant<cache_hit, claimed, claim_busy, load_backing_off>;

struct fill_request {
  cache_key key;
  owner_token owner;
  cache_value value;
  milliseconds ttl;
};

enum class fill_reply { stored, superseded };

struct put_request {
  cache_key key;
  cache_value value;
  milliseconds ttl;
};

struct watch_request {
  cache_key key;
  milliseconds wait;
  layout form = layout::string;
};

/// There is no claim (any more), or its end carried no result: look again.
struct look_again {};
using watch_reply = std::variant<cache_hit, load_backing_off, look_again>;

/// Values with claims: a claim is the lease on a key that is missing, or that is being refreshed,
/// its holder the one who loads. See the rules at the top of this file.
///
/// A refresh is a claim beside the entry (claim_request::refresh_below). While it runs
///  * the entry is read as before, by get() and by claims that do not ask to refresh it;
///  * others who would refresh it are told claim_busy, and watch() waits for the claim's end;
///  * the entry may end: the claim goes on, as on a missing key.
/// Its fill() takes the entry's place. The error of its fail() lies beside the entry: it answers
/// those who would refresh it, and once the entry has ended everybody.
class cache_store {
 public:
  virtual ~cache_store() = default;

  /// A plain read, never a script (it is the hit path).
  virtual void get(cache_key key, layout form, handler<cache_lookup> done) = 0;

  /// The second look and the claim in one step: the value if it is there by now, else the claim,
  /// else who is at it. The same owner asking again gets the same claim. An entry that is to be
  /// refreshed is not looked at: not even whether it is of the other layout.
  virtual void claim(claim_request request, handler<claim_reply> done) = 0;

  /// Sets the claim's time left to ttl if the owner still has it.
  virtual void extend(cache_key key, owner_token owner, milliseconds ttl,
                      handler<renew_reply> done) = 0;

  /// Stores the value and ends the claim, waking the watchers, if the owner still has the claim;
  /// else nothing is changed and the answer is `superseded` (a newer load, put or invalidate won).
  virtual void fill(fill_request request, handler<fill_reply> done) = 0;

  /// Ends the claim with an error that answers everyone for `back_off` (0 to limits::max_ttl, else
  /// errc::invalid_ttl); with back_off 0 the claim
  /// is just given up and the next caller loads. `superseded` when the claim was not ours.
  virtual void fail(cache_key key, owner_token owner, std::string error, milliseconds back_off,
                    handler<fill_reply> done) = 0;

  /// Stores the value whatever was there, and voids a running claim.
  virtual void put(put_request request, handler<void> done) = 0;

  /// Removes the entry, its error and a running claim, so that a late load can't bring back an
  /// old value. True when there was an entry.
  virtual void invalidate(cache_key key, handler<bool> done) = 0;

  /// Makes a framed entry stale, and keeps it to be served while nothing better can be had: its
  /// header says so from now on, and its time left is at most `keep`. Its error and a running claim
  /// are removed, so that a late load can't make an old value fresh. An entry without a header that
  /// this version knows is removed; so is any with `keep` 0 (to limits::max_ttl, else
  /// errc::invalid_ttl). True when there was an entry.
  virtual void expire(cache_key key, milliseconds keep, handler<bool> done) = 0;

  /// How long the entry is kept from now on; limits::max_ttl for one that does not end. Nothing
  /// when there is none.
  virtual void time_left(cache_key key, handler<std::optional<milliseconds>> done) = 0;

  /// The time of the store's clock, since its epoch: a time between the request and its answer. It
  /// is the clock by which entries expire, and can be set where that one can. In a cluster one of
  /// the nodes answers, mostly the same; while that one is down it is an error.
  virtual void now(handler<std::chrono::microseconds> done) = 0;

  /// Completes when the running claim on the key ends, with its result where the store pushes it;
  /// with look_again when there is no claim (any more), or after `wait`. A claim that ends between
  /// the caller's claim() and this call is not missed: the store looks once after it listens.
  /// Stores that don't push (store_traits::pushes_fills) complete with look_again at once.
  virtual void watch(watch_request request, handler<watch_reply> done) = 0;
};

/// One opened backend: its ports, what it is, and what it promises.
struct backend {
  std::shared_ptr<lease_store> leases;
  std::shared_ptr<cache_store> values;  ///< null when the store keeps leases only
  store_traits traits;
  std::string display_name;                    ///< the URL without its password, for messages
  std::shared_ptr<store_warnings> warnings{};  ///< with its notes; null when it has none to give
  std::shared_ptr<tracking_store> tracking{};  ///< null when it cannot push changes of values
  std::shared_ptr<report_store> reports{};     ///< null when processes tell each other nothing
  std::shared_ptr<rules_store> rules{};        ///< null when it keeps no rules
};

}  // namespace v0
}  // namespace herdlock
