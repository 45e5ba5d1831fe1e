// Leases in memory, with a queue for each. Pure: the time is an argument; the space runs what is
// due before each operation, so that whatever is in the table is live.
#pragma once

#include <herdlock/backend.hpp>
#include <list>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "stores/memory/deadlines.hpp"
#include "stores/memory/fencing_counter.hpp"
#include "stores/memory/usage.hpp"
#include "stores/memory/waiter.hpp"

namespace herdlock::memory {

class lease_table {
 public:
  lease_table(deadlines& due, usage& used) : due_(due), used_(used) {}

  /// Nothing when the request was queued: `who` was moved from, and is completed later.
  std::optional<result<acquire_reply>> acquire(acquire_request const& request,
                                               waiter<acquire_reply>& who, clock::time_point now);
  renew_reply renew(resource const& name, owner_token const& owner, clock::time_point expires);
  release_reply leave(leave_request const& request, clock::time_point now);
  /// Without an owner: whoever has it.
  release_reply release(resource const& name, std::optional<owner_token> const& owner,
                        clock::time_point now);
  std::optional<lease_info> inspect(resource const& name, clock::time_point now) const;
  /// By name; the cursor is the last one.
  lease_page list(list_request const& request) const;

  /// Ends the wait with this id, if it has not ended.
  void cancel(std::uint64_t id, failure const& why);
  /// Ends all waits of a handle that is being closed.
  void cancel_all(endpoint const& home, failure const& why);

 private:
  struct queued {
    waiter<acquire_reply> who;
    std::string owner;
    milliseconds ttl;
    deadlines::entry deadline;
  };
  struct row {
    std::string owner;
    fencing_token fencing{};
    clock::time_point since{};
    clock::time_point expires{};
    deadlines::entry expiry{};
    std::list<queued> queue{};
    std::unordered_multiset<std::string> queued_owners{};
  };
  using rows = std::map<std::string, row>;
  struct position {
    rows::iterator where;
    std::list<queued>::iterator who;
  };

  result<acquire_reply> grant_new(acquire_request const& request, clock::time_point now);
  std::optional<result<acquire_reply>> enqueue(acquire_request const& request,
                                               waiter<acquire_reply>& who, rows::iterator where,
                                               clock::time_point now);
  void hold(rows::iterator where, clock::time_point expires);
  void hand_over(rows::iterator where, clock::time_point now);
  queued take(rows::iterator where, std::list<queued>::iterator who);
  void give_to_retries(rows::iterator where);

  deadlines& due_;
  usage& used_;
  rows rows_;
  std::unordered_map<std::uint64_t, position> waiting_;
};

}  // namespace herdlock::memory
