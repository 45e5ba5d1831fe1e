#include "stores/memory/lease_table.hpp"

#include <vector>

#include "stores/common/granted_before.hpp"

namespace herdlock::memory {
namespace {

std::size_t row_bytes(std::string const& name) { return name.size() + limits::max_owner_bytes; }

}  // namespace

std::optional<result<acquire_reply>> lease_table::acquire(acquire_request const& request,
                                                          waiter<acquire_reply>& who,
                                                          clock::time_point now) {
  auto where = rows_.find(request.name.str());
  if (where == rows_.end()) return grant_new(request, now);
  row const& held = where->second;
  if (held.owner == request.owner.str()) {
    auto const rest = std::chrono::floor<milliseconds>(held.expires - now);
    return acquire_reply(stores::granted_before(held.fencing, now, rest, request.ttl));
  }
  if (request.wait > milliseconds{0}) return enqueue(request, who, where, now);
  return acquire_reply(busy{owner_label(held.owner), left(now, held.expires)});
}

result<acquire_reply> lease_table::grant_new(acquire_request const& request,
                                             clock::time_point now) {
  std::string const& name = request.name.str();
  if (failure full = used_.check_entry(row_bytes(name)); full.code) return full;
  used_.add_entry(row_bytes(name));
  auto where = rows_.emplace(name, row{}).first;
  where->second.owner = request.owner.str();
  where->second.fencing = next_fencing();
  where->second.since = now;
  hold(where, now + request.ttl);
  return acquire_reply(grant{where->second.fencing});
}

std::optional<result<acquire_reply>> lease_table::enqueue(acquire_request const& request,
                                                          waiter<acquire_reply>& who,
                                                          rows::iterator where,
                                                          clock::time_point now) {
  if (failure full = used_.check_waiter(); full.code) return result<acquire_reply>(full);
  used_.add_waiter();
  ++who.home->waiting;
  row& held = where->second;
  std::uint64_t id = who.id;
  held.queued_owners.insert(request.owner.str());
  held.queue.push_back({std::move(who), request.owner.str(), request.ttl, {}});
  auto last = std::prev(held.queue.end());
  waiting_.emplace(id, position{where, last});
  last->deadline = due_.add(after(now, request.wait), [this, where, last](clock::time_point at) {
    last->deadline.reset();
    busy answer{owner_label(where->second.owner), left(at, where->second.expires)};
    complete<acquire_reply>(std::move(take(where, last).who), acquire_reply(answer));
  });
  return std::nullopt;
}

renew_reply lease_table::renew(resource const& name, owner_token const& owner,
                               clock::time_point expires) {
  auto where = rows_.find(name.str());
  if (where == rows_.end() || where->second.owner != owner.str()) return renew_reply::lost;
  hold(where, expires);
  return renew_reply::renewed;
}

release_reply lease_table::leave(leave_request const& request, clock::time_point now) {
  auto where = rows_.find(request.name.str());
  if (where == rows_.end()) return release_reply::lost;
  row& held = where->second;
  if (held.owner == request.left_to.str()) return release_reply::released;
  if (held.owner != request.owner.str()) return release_reply::lost;
  held.owner = request.left_to.str();
  hold(where, now + request.ttl);
  return release_reply::released;
}

release_reply lease_table::release(resource const& name, std::optional<owner_token> const& owner,
                                   clock::time_point now) {
  auto where = rows_.find(name.str());
  bool const there = where != rows_.end() && (!owner || where->second.owner == owner->str());
  if (!there) return release_reply::lost;
  hand_over(where, now);
  return release_reply::released;
}

std::optional<lease_info> lease_table::inspect(resource const& name, clock::time_point now) const {
  auto where = rows_.find(name.str());
  if (where == rows_.end()) return std::nullopt;
  row const& held = where->second;
  lease_info told{owner_label(held.owner), held.fencing, left(now, held.expires)};
  told.held_for = std::chrono::floor<milliseconds>(now - held.since);
  return told;
}

lease_page lease_table::list(list_request const& request) const {
  lease_page page;
  auto where = rows_.upper_bound(request.cursor);
  for (; where != rows_.end() && page.names.size() < page_size(request); ++where) {
    page.names.emplace_back(where->first);
  }
  if (where != rows_.end()) page.cursor = page.names.back().str();
  return page;
}

void lease_table::cancel(std::uint64_t id, failure const& why) {
  auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  position at = found->second;
  complete<acquire_reply>(std::move(take(at.where, at.who).who), why);
}

void lease_table::cancel_all(endpoint const& home, failure const& why) {
  std::vector<std::uint64_t> ids;
  for (auto const& [id, at] : waiting_) {
    if (at.who->who.home.get() == &home) ids.push_back(id);
  }
  for (std::uint64_t id : ids) cancel(id, why);
}

void lease_table::hold(rows::iterator where, clock::time_point expires) {
  row& held = where->second;
  held.expires = expires;
  if (held.expiry) return due_.move(held.expiry, expires);
  held.expiry = due_.add(expires, [this, where](clock::time_point now) {
    where->second.expiry.reset();
    hand_over(where, now);
  });
}

// The resource goes straight to the head of the queue: it is never free while somebody waits, so
// nobody can push in between, and one wait ends for each hand-over.
void lease_table::hand_over(rows::iterator where, clock::time_point now) {
  row& held = where->second;
  if (held.queue.empty()) {
    due_.remove(held.expiry);
    used_.remove_entry(row_bytes(where->first));
    rows_.erase(where);
    return;
  }
  queued next = take(where, held.queue.begin());
  held.owner = std::move(next.owner);
  held.fencing = next_fencing();
  held.since = now;
  hold(where, now + next.ttl);
  complete<acquire_reply>(std::move(next.who), acquire_reply(grant{held.fencing}));
  give_to_retries(where);
}

// An owner that asked twice (its first try was given up for lost) stands in the queue twice. Both
// get this grant: a second one later would be a lease that nobody releases.
void lease_table::give_to_retries(rows::iterator where) {
  row& held = where->second;
  if (held.queued_owners.count(held.owner) == 0) return;
  for (auto who = held.queue.begin(); who != held.queue.end();) {
    auto next = std::next(who);
    if (who->owner == held.owner) {
      complete<acquire_reply>(std::move(take(where, who).who), acquire_reply(grant{held.fencing}));
    }
    who = next;
  }
}

lease_table::queued lease_table::take(rows::iterator where, std::list<queued>::iterator who) {
  row& held = where->second;
  due_.remove(who->deadline);
  waiting_.erase(who->who.id);
  held.queued_owners.erase(held.queued_owners.find(who->owner));
  queued taken = std::move(*who);
  held.queue.erase(who);
  used_.remove_waiter();
  return taken;
}

}  // namespace herdlock::memory
