// Claims in one store, values in another: the classical get, lock, get again, load, set, release
// behind the port of the guarded kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include <herdlock/backend.hpp>

#include "runtime/store_core.hpp"
#include "runtime/task_tracker.hpp"

namespace herdlock::runtime {

/// The suffix that makes a key the name of its lock; counts towards limits::max_name_bytes.
inline constexpr std::string_view lock_suffix = ":lock";

/// A claim is the lease on the resource `key:lock`. This way there is no fill that checks the claim
/// in its own step (it is renewed one step before), there are no errors and pushes across
/// processes, and no claims voided by put and invalidate. Refreshes and expire rest on them, and
/// with them the clock: they are errc::not_supported. Called, and completing, on the executor of
/// the value store; hops to that of the lock store and back.
class cache_over_locks final : public cache_store,
                               public std::enable_shared_from_this<cache_over_locks> {
 public:
  /// `claim_ttl` is what the lock store has to allow anyway.
  cache_over_locks(std::shared_ptr<store_core> values, std::shared_ptr<store_core> locks,
                   milliseconds claim_ttl)
      : values_(std::move(values)), locks_(std::move(locks)), claim_ttl_(claim_ttl) {}

  void get(cache_key key, layout form, handler<cache_lookup> done) override;
  void claim(claim_request request, handler<claim_reply> done) override;
  void extend(cache_key key, owner_token owner, milliseconds ttl,
              handler<renew_reply> done) override;
  void fill(fill_request request, handler<fill_reply> done) override;
  void fail(cache_key key, owner_token owner, std::string error, milliseconds back_off,
            handler<fill_reply> done) override;
  void put(put_request request, handler<void> done) override;
  void invalidate(cache_key key, handler<bool> done) override;
  void expire(cache_key key, milliseconds keep, handler<bool> done) override;
  void time_left(cache_key key, handler<std::optional<milliseconds>> done) override;
  void now(handler<std::chrono::microseconds> done) override;
  void watch(watch_request request, handler<watch_reply> done) override;

  /// The contexts of the stores, which must live while something is under way between them.
  void keep_open(std::shared_ptr<void> contexts) { contexts_ = std::move(contexts); }
  std::shared_ptr<task_tracker> const& tasks() const { return tasks_; }

  /// put or invalidate of this very cache: fills of the key that have not sent their value yet
  /// are superseded. On the value store's executor.
  void void_fills(cache_key const& key);

 private:
  struct task_keeper {
    std::shared_ptr<void> contexts;
    std::shared_ptr<void> under_way;
  };
  task_keeper task() const { return {contexts_, tasks_->begin()}; }

  void look_again_under_lock(claim_request request, fencing_token fencing,
                             handler<claim_reply> done);
  void store_under_lock(fill_request request, handler<fill_reply> done);
  /// Gives the lock up, whatever the store says, then completes.
  template <class Reply>
  void release_then(cache_key const& key, owner_token const& owner, handler<Reply> done,
                    result<Reply> reply);
  template <class Reply>
  void refuse(std::string const& what, handler<Reply> done) const;
  template <class Reply, class Call>
  void on_locks(handler<Reply> done, Call call);

  struct key_fills {
    std::size_t under_way = 0;  // their locks are being proved
    std::uint64_t voids = 0;
  };
  bool voided_since(cache_key const& key, std::uint64_t voids);

  std::unordered_map<std::string, key_fills> fills_;
  std::shared_ptr<void> contexts_;  // first, so that it goes last
  std::shared_ptr<store_core> values_;
  std::shared_ptr<store_core> locks_;
  milliseconds claim_ttl_;
  std::shared_ptr<task_tracker> tasks_ = std::make_shared<task_tracker>();
};

}  // namespace herdlock::runtime
