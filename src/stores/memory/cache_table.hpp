// Values, claims and errors in memory. Pure, as lease_table is.
//
// A key is in one of three states at a time: it has a value, or a claim (somebody loads), or an
// error (the last load failed). A claim is only given for a key that has neither of the others,
// and put, fill, fail and invalidate each end it; watchers wait for that end.
#pragma once

#include <herdlock/backend.hpp>
#include <list>
#include <map>
#include <unordered_map>

#include "stores/memory/deadlines.hpp"
#include "stores/memory/fencing_counter.hpp"
#include "stores/memory/usage.hpp"
#include "stores/memory/waiter.hpp"

namespace herdlock::memory {

class cache_table {
 public:
  /// A load's error, and how long it answers for everyone.
  struct error_state {
    std::string text;
    milliseconds back_off{};
  };

  cache_table(deadlines& due, usage& used) : due_(due), used_(used) {}

  result<cache_lookup> get(cache_key const& key, layout form) const;
  result<claim_reply> claim(claim_request const& request, clock::time_point now);
  renew_reply extend(cache_key const& key, owner_token const& owner, clock::time_point expires);
  result<fill_reply> fill(fill_request request, clock::time_point now);
  /// `back_off` 0 ends the claim without an error.
  result<fill_reply> fail(cache_key const& key, owner_token const& owner, error_state error,
                          clock::time_point now);
  result<void> put(put_request request, clock::time_point now);
  bool invalidate(cache_key const& key);
  /// Nothing when `who` waits: it was moved from, and is completed later.
  std::optional<result<watch_reply>> watch(watch_request const& request, waiter<watch_reply>& who,
                                           clock::time_point now);

  /// Ends the wait with this id, if it has not ended.
  void cancel(std::uint64_t id, failure const& why);
  /// Ends all waits of a handle that is being closed.
  void cancel_all(endpoint const& home, failure const& why);

 private:
  struct claim_state {
    std::string owner;
    fencing_token fencing;
  };
  using state = std::variant<cache_value, claim_state, error_state>;

  struct watcher {
    waiter<watch_reply> who;
    layout form;
    deadlines::entry deadline;
  };
  struct row {
    state now{};
    clock::time_point expires{};
    deadlines::entry expiry{};
    std::list<watcher> watchers{};
    std::size_t bytes = 0;
  };
  using rows = std::map<std::string, row>;
  struct position {
    rows::iterator where;
    std::list<watcher>::iterator who;
  };

  rows::iterator find_claim(cache_key const& key, owner_token const& owner);
  failure set(cache_key const& key, state next, clock::time_point expires);
  void expire_at(rows::iterator where, clock::time_point expires);
  void erase(rows::iterator where);
  void wake(rows::iterator where, clock::time_point now);
  watcher take(rows::iterator where, std::list<watcher>::iterator who);

  deadlines& due_;
  usage& used_;
  rows rows_;
  std::unordered_map<std::uint64_t, position> waiting_;
};

}  // namespace herdlock::memory
