// A claim whose outcome is unknown, or that nobody wants any more, is given up in the background.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>

#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// Tells closing to wait (runtime::close_limit at most) for something that ends a claim.
class give_back_bracket {
 public:
  explicit give_back_bracket(store_core& home) : home_(home.shared_from_this()) {
    home_->give_back_begun();
  }
  give_back_bracket(give_back_bracket&&) = default;
  give_back_bracket& operator=(give_back_bracket&&) = delete;
  ~give_back_bracket() {
    if (home_) home_->give_back_ended();
  }

 private:
  std::shared_ptr<store_core> home_;
};

/// Gives the claim up, again and again until the store has answered or the claim's ttl is over
/// anyway. `over_locks` is null when the claims are in the value store.
void start_claim_clean_up(std::shared_ptr<store_core> home, std::shared_ptr<cache_store> over_locks,
                          claim_request const& claim);

}  // namespace herdlock::runtime
