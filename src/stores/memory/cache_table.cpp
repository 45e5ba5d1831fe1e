#include "stores/memory/cache_table.hpp"

#include <algorithm>
#include <vector>

namespace herdlock::memory {
namespace {

// The text of a failed load is for people: one that is longer is cut.
constexpr std::size_t max_error_bytes = 64 * 1024;

result<watch_reply> as_watch_reply(cache_key const& key, cache_value const& value, layout form) {
  if (failure other = check_layout(key, value, form); other.code) return other;
  return watch_reply(cache_hit{value});
}

}  // namespace

result<cache_lookup> cache_table::get(cache_key const& key, layout form) const {
  auto where = rows_.find(key.str());
  if (where == rows_.end()) return cache_lookup();
  auto const* value = std::get_if<cache_value>(&where->second.now);
  if (value == nullptr) return cache_lookup();
  if (failure other = check_layout(key, *value, form); other.code) return other;
  return cache_lookup(*value);
}

result<claim_reply> cache_table::claim(claim_request const& request, clock::time_point now) {
  auto where = rows_.find(request.key.str());
  if (where == rows_.end()) {
    claim_state mine{request.owner.str(), next_fencing()};
    claimed answer{mine.fencing};
    if (failure full = set(request.key, std::move(mine), now + request.ttl); full.code) return full;
    return claim_reply(answer);
  }
  row const& there = where->second;
  if (auto const* value = std::get_if<cache_value>(&there.now)) {
    if (failure other = check_layout(request.key, *value, request.form); other.code) return other;
    return claim_reply(cache_hit{*value});
  }
  if (auto const* error = std::get_if<error_state>(&there.now)) {
    return claim_reply(load_backing_off{error->text, left(now, there.expires)});
  }
  auto const& held = std::get<claim_state>(there.now);
  if (held.owner == request.owner.str()) return claim_reply(claimed{held.fencing});
  return claim_reply(claim_busy{left(now, there.expires)});
}

renew_reply cache_table::extend(cache_key const& key, owner_token const& owner,
                                clock::time_point expires) {
  auto where = find_claim(key, owner);
  if (where == rows_.end()) return renew_reply::lost;
  expire_at(where, expires);
  return renew_reply::renewed;
}

result<fill_reply> cache_table::fill(fill_request request, clock::time_point now) {
  auto where = find_claim(request.key, request.owner);
  if (where == rows_.end()) return fill_reply::superseded;
  failure full = set(request.key, std::move(request.value), now + request.ttl);
  if (full.code) return full;
  wake(where, now);
  return fill_reply::stored;
}

result<fill_reply> cache_table::fail(cache_key const& key, owner_token const& owner,
                                     error_state error, clock::time_point now) {
  auto where = find_claim(key, owner);
  if (where == rows_.end()) return fill_reply::superseded;
  if (error.back_off == milliseconds{0}) {
    erase(where);
    return fill_reply::stored;
  }
  clock::time_point until = now + error.back_off;
  error.text.resize(std::min(error.text.size(), max_error_bytes));
  if (failure full = set(key, std::move(error), until); full.code) return full;
  wake(where, now);
  return fill_reply::stored;
}

result<void> cache_table::put(put_request request, clock::time_point now) {
  failure full = set(request.key, std::move(request.value), now + request.ttl);
  if (full.code) return full;
  wake(rows_.find(request.key.str()), now);
  return {};
}

bool cache_table::invalidate(cache_key const& key) {
  auto where = rows_.find(key.str());
  if (where == rows_.end()) return false;
  bool had_value = std::holds_alternative<cache_value>(where->second.now);
  erase(where);
  return had_value;
}

std::optional<result<watch_reply>> cache_table::watch(watch_request const& request,
                                                      waiter<watch_reply>& who,
                                                      clock::time_point now) {
  auto where = rows_.find(request.key.str());
  if (where == rows_.end()) return result<watch_reply>(look_again{});
  row& there = where->second;
  if (auto const* value = std::get_if<cache_value>(&there.now)) {
    return as_watch_reply(request.key, *value, request.form);
  }
  if (auto const* error = std::get_if<error_state>(&there.now)) {
    return result<watch_reply>(load_backing_off{error->text, left(now, there.expires)});
  }
  if (request.wait <= milliseconds{0}) return result<watch_reply>(look_again{});
  if (failure full = used_.check_waiter(); full.code) return result<watch_reply>(full);
  used_.add_waiter();
  ++who.home->waiting;
  std::uint64_t id = who.id;
  there.watchers.push_back({std::move(who), request.form, {}});
  auto last = std::prev(there.watchers.end());
  waiting_.emplace(id, position{where, last});
  last->deadline = due_.add(after(now, request.wait), [this, where, last](clock::time_point) {
    last->deadline.reset();
    complete<watch_reply>(std::move(take(where, last).who), watch_reply(look_again{}));
  });
  return std::nullopt;
}

void cache_table::cancel(std::uint64_t id, failure const& why) {
  auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  position at = found->second;
  complete<watch_reply>(std::move(take(at.where, at.who).who), why);
}

void cache_table::cancel_all(endpoint const& home, failure const& why) {
  std::vector<std::uint64_t> ids;
  for (auto const& [id, at] : waiting_) {
    if (at.who->who.home.get() == &home) ids.push_back(id);
  }
  for (std::uint64_t id : ids) cancel(id, why);
}

cache_table::rows::iterator cache_table::find_claim(cache_key const& key,
                                                    owner_token const& owner) {
  auto where = rows_.find(key.str());
  if (where == rows_.end()) return where;
  auto const* held = std::get_if<claim_state>(&where->second.now);
  return held != nullptr && held->owner == owner.str() ? where : rows_.end();
}

failure cache_table::set(cache_key const& key, state next, clock::time_point expires) {
  std::size_t bytes = key.str().size();
  if (auto const* value = std::get_if<cache_value>(&next)) bytes += value_bytes(*value);
  if (auto const* error = std::get_if<error_state>(&next)) bytes += error->text.size();
  if (std::holds_alternative<claim_state>(next)) bytes += limits::max_owner_bytes;
  auto where = rows_.find(key.str());
  if (where == rows_.end()) {
    if (failure full = used_.check_entry(bytes); full.code) return full;
    where = rows_.emplace(key.str(), row{}).first;
    used_.add_entry(bytes);
  } else {
    std::size_t before = where->second.bytes;
    if (failure full = used_.check_bytes(bytes, before); full.code) return full;
    used_.replace_bytes(before, bytes);
  }
  where->second.bytes = bytes;
  where->second.now = std::move(next);
  expire_at(where, expires);
  return {};
}

void cache_table::expire_at(rows::iterator where, clock::time_point expires) {
  row& there = where->second;
  there.expires = expires;
  if (there.expiry) return due_.move(there.expiry, expires);
  there.expiry = due_.add(expires, [this, where](clock::time_point) {
    where->second.expiry.reset();
    erase(where);
  });
}

void cache_table::erase(rows::iterator where) {
  row& there = where->second;
  while (!there.watchers.empty()) {
    complete<watch_reply>(std::move(take(where, there.watchers.begin()).who),
                          watch_reply(look_again{}));
  }
  due_.remove(there.expiry);
  used_.remove_entry(there.bytes);
  rows_.erase(where);
}

// Each watcher gets the result itself: nobody has to come back and ask.
void cache_table::wake(rows::iterator where, clock::time_point now) {
  row& there = where->second;
  while (!there.watchers.empty()) {
    watcher one = take(where, there.watchers.begin());
    if (auto const* value = std::get_if<cache_value>(&there.now)) {
      complete<watch_reply>(std::move(one.who),
                            as_watch_reply(cache_key(where->first), *value, one.form));
    } else {
      auto const& error = std::get<error_state>(there.now);
      load_backing_off answer{error.text, left(now, there.expires)};
      complete<watch_reply>(std::move(one.who), watch_reply(std::move(answer)));
    }
  }
}

cache_table::watcher cache_table::take(rows::iterator where, std::list<watcher>::iterator who) {
  due_.remove(who->deadline);
  waiting_.erase(who->who.id);
  watcher taken = std::move(*who);
  where->second.watchers.erase(who);
  used_.remove_waiter();
  return taken;
}

}  // namespace herdlock::memory
