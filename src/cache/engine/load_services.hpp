// The things that the loads of one cache share.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "cache/engine/load_slots.hpp"
#include "cache/engine/over_locks.hpp"
#include "cache/engine/posting_gate.hpp"
#include "cache/keys/claim_clean_up.hpp"
#include "cache/keys/keys.hpp"

namespace herdlock::runtime {

/// The store that has the claims of a cache.
class claim_place {
 public:
  /// `over_locks` is null when they are in the value store.
  claim_place(std::shared_ptr<store_core> values, std::shared_ptr<cache_over_locks> over_locks)
      : values_(std::move(values)), over_locks_(std::move(over_locks)) {}

  /// Null when the store is closing.
  cache_store* store() const { return over_locks_ ? over_locks_.get() : values_->values().get(); }
  /// One store has claims and values: fills are pushed, writes void claims, and an end of a claim
  /// says that the store takes writes.
  bool is_value_store() const noexcept { return !over_locks_; }
  bool pushes_fills() const { return is_value_store() && values_->traits().pushes_fills; }
  /// The key was written by this process: a fill that has not sent its value is superseded.
  void voided(cache_key const& key) const {
    if (over_locks_) over_locks_->void_fills(key);
  }
  /// Ends the claim in the background.
  void give_up(claim_request const& claim) const {
    start_claim_clean_up(values_, over_locks_, claim);
  }
  std::shared_ptr<cache_over_locks> const& over_locks() const { return over_locks_; }

 private:
  std::shared_ptr<store_core> values_;
  std::shared_ptr<cache_over_locks> over_locks_;
};

struct load_services {
  home_ptr home;
  std::shared_ptr<cache_keys> keys;
  claim_place claims;
  std::shared_ptr<detail::owned_load> owned;  ///< null where the cache has no loader of its own
  detail::home_of_loads where;
  load_slots slots;

  void give_up_claim(cache_key const& key, owner_token const& owner) const {
    claims.give_up({key, owner, home->options.claim_ttl, home->form});
  }
};

}  // namespace herdlock::runtime
