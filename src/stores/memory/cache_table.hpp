// Values, claims and errors in memory. Pure, as lease_table is.
//
// A key has a value, and beside it a claim (somebody loads) or an error (the last load failed); or
// only one of them. A claim is given where there is no error, and no value but one that is to be
// refreshed. put, fill, fail, invalidate and expire each end it; watchers wait for that end.
#pragma once

#include <herdlock/backend.hpp>
#include <herdlock/rules_store.hpp>
#include <list>
#include <map>
#include <unordered_map>

#include "algo/entry_prolonging.hpp"
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
  bool expire(cache_key const& key, milliseconds keep, clock::time_point now);
  std::optional<milliseconds> time_left(cache_key const& key, clock::time_point now) const;
  /// As rules_store::prolong says.
  bool prolong(prolong_request const& what, clock::time_point now);
  /// Nothing when `who` waits: it was moved from, and is completed later. Without a claim it is
  /// told to look again: a value that is there may be the old one, which a refresh has left.
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
  struct idle {};
  using work_state = std::variant<idle, claim_state, error_state>;
  struct end {
    clock::time_point when{};
    deadlines::entry entry{};
  };

  struct watcher {
    waiter<watch_reply> who;
    layout form;
    deadlines::entry deadline;
  };
  struct row {
    std::optional<cache_value> value{};
    end value_end{};
    algo::prolong_mark prolonged{};
    work_state work{};
    end work_end{};
    std::list<watcher> watchers{};
    std::size_t bytes = 0;
  };
  using rows = std::map<std::string, row>;
  struct position {
    rows::iterator where;
    std::list<watcher>::iterator who;
  };

  rows::iterator find_claim(cache_key const& key, owner_token const& owner);
  /// The key's row, made if there is none, with room for so many bytes; or why there is none.
  result<rows::iterator> make_room(cache_key const& key, std::size_t bytes);
  /// And ends what was beside the old value, without waking those who watch it.
  failure set_value(cache_key const& key, cache_value value, clock::time_point until);
  failure set_work(cache_key const& key, work_state work, clock::time_point until);
  void value_ends_at(rows::iterator where, clock::time_point when);
  void work_ends_at(rows::iterator where, clock::time_point when);
  void drop_value(rows::iterator where);
  /// The row goes, too, when it has no value.
  void drop_work(rows::iterator where);
  void erase(rows::iterator where);
  void recount(row& where, std::size_t bytes);
  void wake(rows::iterator where, clock::time_point now);
  void send_back(rows::iterator where);
  watcher take(rows::iterator where, std::list<watcher>::iterator who);

  deadlines& due_;
  usage& used_;
  rows rows_;
  std::unordered_map<std::uint64_t, position> waiting_;
};

}  // namespace herdlock::memory
