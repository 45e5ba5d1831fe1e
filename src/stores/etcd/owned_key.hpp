// An owner's key in the queue for a resource, and the etcd lease that it lives with: what is asked
// of the cluster about the two.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "stores/common/waiter.hpp"
#include "stores/etcd/connection_pool.hpp"
#include "stores/etcd/lease_pool.hpp"

namespace herdlock::etcd {

/// Our key and those before it, as an answer tells.
struct found_entries {
  key_entry own;
  key_entry before;          ///< ours, when nobody is
  std::string two_before{};  ///< the key before that one; empty: none that we know of
  std::int64_t seen_at = 0;  ///< the revision of all that, on our lease; 0: of no use
};

/// What became of our key when it was to be removed.
struct removal {
  failure why;  ///< there was no answer, or a refusal
  int attempts = 0;
  bool removed = false;
  bool not_there = false;  ///< as it was told; not all requests ask
  bool was_first = false;
  bool with_our_lease = false;
};

/// What came of a renewal.
struct renewal {
  failure why;  ///< its outcome is unknown
  renew_reply reply = renew_reply::lost;
  bool key_was_ours = false;
  std::optional<std::int64_t> moved_from{};  ///< the key's lease before, if it has another one now
};

/// What a look shows of our key.
struct sighting {
  enum class kind { no_answer, gone, behind, first } what = kind::no_answer;
  found_entries found;
  clock::time_point sent;
};

struct key_lease {
  std::int64_t number = 0;
  std::int64_t seconds = 0;       ///< what it was asked for
  bool reusable = false;          ///< nothing that is still on its way names it
  clock::time_point alive_until;  ///< it lives at least so long
  clock::time_point keep_at;      ///< while waiting: when to keep it alive
};

class owned_key {
 public:
  owned_key(std::shared_ptr<connection_pool> connections, std::shared_ptr<lease_pool> leases,
            resource name, owner_token owner);

  std::string const& name() const { return key_; }
  key_lease const& lease() const { return lease_; }
  std::int64_t created() const { return created_; }
  /// Another made the key, and may hold it.
  bool adopted() const { return adopted_; }
  /// Whoever was stopped for long must look: its lease may have ended after the news.
  bool surely_ours(clock::time_point now) const {
    return !adopted_ && lease_.alive_until - now > std::chrono::seconds(lease_.seconds) / 2;
  }

  void found_at(std::int64_t created, std::int64_t modified);
  void proved(clock::time_point sent, std::int64_t seconds);
  void keep_no_later_than(clock::time_point when);

  /// How recent the proof must be that a pooled lease is alive: from now on, or within the first
  /// third of its time, as that of a waiter always is.
  enum class proof { of_now, of_lately };
  asio::awaitable<failure> take_lease(milliseconds ttl, proof wanted);
  /// False: it has ended. Without an answer it counts as alive until it must have ended.
  asio::awaitable<bool> keep_alive();
  asio::awaitable<void> revoke(std::int64_t lease);
  /// The lease has no key any more: it may be used again.
  void give_lease_away();
  /// With the key, if that is still there.
  void end_lease() { leases_->end(lease_.number); }
  void forget();

  enum class joining { to_wait, if_free };
  asio::awaitable<answer<found_entries>> put(joining how, milliseconds ttl);
  asio::awaitable<std::optional<milliseconds>> adopt(key_entry& own, milliseconds ttl,
                                                     failure& why);
  /// `present`: the ttl that we hold it for; 0 when we do not.
  asio::awaitable<renewal> renew(milliseconds ttl, milliseconds present);
  /// Removes it if nobody wrote it since we did. Reads nothing; compares what only our own key, the
  /// first, has.
  asio::awaitable<removal> remove_unchanged();
  enum class removing { held, whatever_it_is };
  /// Removes it if it is the one that was created then (0: any, and what another owner left to this
  /// one), with a look at what it was; what is held as above, unless another handle of the owner
  /// wrote it.
  asio::awaitable<removal> remove(removing what, std::int64_t created);
  /// Leaves the key to another owner, if it is first: with an etcd lease that nobody keeps alive.
  asio::awaitable<result<release_reply>> pass_on(owner_token to, milliseconds ttl);
  asio::awaitable<answer<range_reply>> first_of_queue();
  /// `told_at`: the revision of the news that it is for; 0: none.
  asio::awaitable<sighting> look(std::int64_t told_at);

 private:
  asio::awaitable<renewal> move_to_new_lease(key_entry own, milliseconds ttl);
  asio::awaitable<removal> remove_by(std::string const& request);
  asio::awaitable<removal> remove_left();
  asio::awaitable<answer<range_reply>> ours_and_two_before(reading way);
  std::string value(milliseconds ttl) const;
  std::optional<found_entries> entries_in(txn_reply const& found, joining how) const;

  std::shared_ptr<connection_pool> const connections_;
  std::shared_ptr<lease_pool> const leases_;
  resource const name_;
  owner_token const owner_;
  std::string const prefix_;
  std::string const key_;

  key_lease lease_;
  bool adopted_ = false;
  std::int64_t created_ = 0;   ///< revision: our rank in the queue, and the fencing token
  std::int64_t modified_ = 0;  ///< the last write that we know of
};

/// How long etcd lets a lease live that was asked for in milliseconds.
std::int64_t lease_seconds(milliseconds ttl);

/// Makes the lease of that number for the whole ttl from now on. One that is there is of an earlier
/// attempt without an answer.
asio::awaitable<failure> make_lease(std::shared_ptr<connection_pool> connections,
                                    std::int64_t lease, milliseconds ttl,
                                    clock::time_point deadline);

/// The time left of a key's holder, from what etcd knows; at least 1 ms while it is there.
asio::awaitable<milliseconds> time_left(std::shared_ptr<connection_pool> connections,
                                        key_entry const& holder, clock::time_point deadline);

inline bool lease_is_gone(refusal const& refused) { return refused.code == status::not_found; }
inline constexpr milliseconds pause_after_failure{250};

// The ports' operations while they are under way.
using stores::waiter;
using renew_operation = stores::operation<renew_reply>;
using release_operation = stores::operation<release_reply>;
using inspect_operation = stores::operation<std::optional<lease_info>>;
using list_operation = stores::operation<lease_page>;

/// For who does not get it: who is first, and for how long.
asio::awaitable<void> answer_busy(std::shared_ptr<connection_pool> connections,
                                  std::shared_ptr<waiter> op, key_entry first);

/// `created` is the revision of the key, which is the fencing token.
void grant_it(waiter& op, std::int64_t created, clock::time_point sent, milliseconds left);

}  // namespace herdlock::etcd
