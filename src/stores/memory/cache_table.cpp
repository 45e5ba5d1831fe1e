#include "stores/memory/cache_table.hpp"

#include <algorithm>
#include <vector>

#include "stores/common/stale_entry.hpp"

namespace herdlock::memory {
namespace {

// The text of a failed load is for people: one that is longer is cut.
constexpr std::size_t max_error_bytes = 64 * 1024;

result<watch_reply> as_watch_reply(cache_key const& key, cache_value const& value, layout form) {
  if (failure other = check_layout(key, value, form); other.code) return other;
  return watch_reply(cache_hit{value});
}

std::size_t bytes_of(std::optional<cache_value> const& value) {
  return value ? value_bytes(*value) : 0;
}

}  // namespace

result<cache_lookup> cache_table::get(cache_key const& key, layout form) const {
  auto where = rows_.find(key.str());
  if (where == rows_.end() || !where->second.value) return cache_lookup();
  cache_value const& value = *where->second.value;
  if (failure other = check_layout(key, value, form); other.code) return other;
  return cache_lookup(value);
}

result<claim_reply> cache_table::claim(claim_request const& request, clock::time_point now) {
  auto where = rows_.find(request.key.str());
  if (where != rows_.end()) {
    row const& there = where->second;
    bool const answers = request.refresh_below == milliseconds{0} ||
                         there.value_end.when - now >= request.refresh_below;
    if (there.value && answers) {
      failure other = check_layout(request.key, *there.value, request.form);
      if (other.code) return other;
      return claim_reply(cache_hit{*there.value});
    }
    if (auto const* error = std::get_if<error_state>(&there.work)) {
      return claim_reply(load_backing_off{error->text, left(now, there.work_end.when)});
    }
    if (auto const* held = std::get_if<claim_state>(&there.work)) {
      if (held->owner == request.owner.str()) return claim_reply(claimed{held->fencing});
      return claim_reply(claim_busy{left(now, there.work_end.when)});
    }
  }
  claim_state mine{request.owner.str(), next_fencing()};
  claimed answer{mine.fencing};
  failure full = set_work(request.key, std::move(mine), now + request.ttl);
  if (full.code) return full;
  return claim_reply(answer);
}

renew_reply cache_table::extend(cache_key const& key, owner_token const& owner,
                                clock::time_point expires) {
  auto where = find_claim(key, owner);
  if (where == rows_.end()) return renew_reply::lost;
  work_ends_at(where, expires);
  return renew_reply::renewed;
}

result<fill_reply> cache_table::fill(fill_request request, clock::time_point now) {
  auto where = find_claim(request.key, request.owner);
  if (where == rows_.end()) return fill_reply::superseded;
  failure full = set_value(request.key, std::move(request.value), now + request.ttl);
  if (full.code) return full;
  wake(where, now);
  return fill_reply::stored;
}

result<fill_reply> cache_table::fail(cache_key const& key, owner_token const& owner,
                                     error_state error, clock::time_point now) {
  auto where = find_claim(key, owner);
  if (where == rows_.end()) return fill_reply::superseded;
  if (error.back_off == milliseconds{0}) {
    drop_work(where);
    return fill_reply::stored;
  }
  clock::time_point until = now + error.back_off;
  error.text.resize(std::min(error.text.size(), max_error_bytes));
  if (failure full = set_work(key, std::move(error), until); full.code) return full;
  wake(where, now);
  return fill_reply::stored;
}

result<void> cache_table::put(put_request request, clock::time_point now) {
  failure full = set_value(request.key, std::move(request.value), now + request.ttl);
  if (full.code) return full;
  wake(rows_.find(request.key.str()), now);
  return {};
}

bool cache_table::invalidate(cache_key const& key) {
  auto where = rows_.find(key.str());
  if (where == rows_.end()) return false;
  bool had_value = where->second.value.has_value();
  erase(where);
  return had_value;
}

bool cache_table::expire(cache_key const& key, milliseconds keep, clock::time_point now) {
  auto where = rows_.find(key.str());
  if (where == rows_.end()) return false;
  row& there = where->second;
  if (!there.value || keep == milliseconds{0} || !stores::make_stale(*there.value)) {
    return invalidate(key);
  }
  drop_work(where);
  value_ends_at(where, std::min(there.value_end.when, now + keep));
  return true;
}

std::optional<milliseconds> cache_table::time_left(cache_key const& key,
                                                   clock::time_point now) const {
  auto const where = rows_.find(key.str());
  if (where == rows_.end() || !where->second.value) return std::nullopt;
  return left(now, where->second.value_end.when);
}

bool cache_table::prolong(prolong_request const& what, clock::time_point now) {
  auto const where = rows_.find(what.key.str());
  // "No such thing" is to be asked about again when it says so.
  if (where == rows_.end() || !where->second.value) return false;
  row& there = where->second;
  if (std::holds_alternative<absent>(*there.value)) return false;
  auto const longer =
      algo::prolonged(there.value_end.when, there.prolonged, {what.to, what.at_most}, now);
  if (!longer) return false;
  there.prolonged = *longer;
  value_ends_at(where, longer->last);
  return true;
}

std::optional<result<watch_reply>> cache_table::watch(watch_request const& request,
                                                      waiter<watch_reply>& who,
                                                      clock::time_point now) {
  auto where = rows_.find(request.key.str());
  bool const waits = where != rows_.end() && request.wait > milliseconds{0} &&
                     std::holds_alternative<claim_state>(where->second.work);
  if (!waits) return result<watch_reply>(look_again{});
  row& there = where->second;
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
  auto const* held = std::get_if<claim_state>(&where->second.work);
  return held != nullptr && held->owner == owner.str() ? where : rows_.end();
}

result<cache_table::rows::iterator> cache_table::make_room(cache_key const& key,
                                                           std::size_t bytes) {
  auto where = rows_.find(key.str());
  if (where == rows_.end()) {
    if (failure full = used_.check_entry(bytes); full.code) return full;
    where = rows_.emplace(key.str(), row{}).first;
    used_.add_entry(bytes);
    where->second.bytes = bytes;
    return where;
  }
  failure full = used_.check_bytes(bytes, where->second.bytes);
  if (full.code) return full;
  recount(where->second, bytes);
  return where;
}

failure cache_table::set_value(cache_key const& key, cache_value value, clock::time_point until) {
  auto const where = make_room(key, key.str().size() + value_bytes(value));
  if (!where) return where.error();
  row& there = (*where)->second;
  there.value = std::move(value);
  there.work = idle{};
  due_.remove(there.work_end.entry);
  value_ends_at(*where, until);
  return {};
}

failure cache_table::set_work(cache_key const& key, work_state work, clock::time_point until) {
  std::size_t bytes = key.str().size() + limits::max_owner_bytes;
  if (auto const* error = std::get_if<error_state>(&work)) {
    bytes = key.str().size() + error->text.size();
  }
  auto const there = rows_.find(key.str());
  if (there != rows_.end()) bytes += bytes_of(there->second.value);
  auto const where = make_room(key, bytes);
  if (!where) return where.error();
  (*where)->second.work = std::move(work);
  work_ends_at(*where, until);
  return {};
}

void cache_table::value_ends_at(rows::iterator where, clock::time_point when) {
  end& at = where->second.value_end;
  at.when = when;
  if (at.entry) return due_.move(at.entry, when);
  at.entry = due_.add(when, [this, where](clock::time_point) {
    where->second.value_end.entry.reset();
    drop_value(where);
  });
}

void cache_table::work_ends_at(rows::iterator where, clock::time_point when) {
  end& at = where->second.work_end;
  at.when = when;
  if (at.entry) return due_.move(at.entry, when);
  at.entry = due_.add(when, [this, where](clock::time_point) {
    where->second.work_end.entry.reset();
    drop_work(where);
  });
}

void cache_table::drop_value(rows::iterator where) {
  row& there = where->second;
  if (std::holds_alternative<idle>(there.work)) return erase(where);
  recount(there, there.bytes - bytes_of(there.value));
  there.value.reset();
}

void cache_table::drop_work(rows::iterator where) {
  row& there = where->second;
  if (!there.value) return erase(where);
  send_back(where);
  there.work = idle{};
  due_.remove(there.work_end.entry);
  recount(there, where->first.size() + bytes_of(there.value));
}

void cache_table::erase(rows::iterator where) {
  send_back(where);
  due_.remove(where->second.value_end.entry);
  due_.remove(where->second.work_end.entry);
  used_.remove_entry(where->second.bytes);
  rows_.erase(where);
}

void cache_table::recount(row& where, std::size_t bytes) {
  used_.replace_bytes(where.bytes, bytes);
  where.bytes = bytes;
}

// Each watcher gets the result itself: nobody has to come back and ask.
void cache_table::wake(rows::iterator where, clock::time_point now) {
  row& there = where->second;
  while (!there.watchers.empty()) {
    watcher one = take(where, there.watchers.begin());
    if (auto const* error = std::get_if<error_state>(&there.work)) {
      load_backing_off answer{error->text, left(now, there.work_end.when)};
      complete<watch_reply>(std::move(one.who), watch_reply(std::move(answer)));
    } else {
      complete<watch_reply>(std::move(one.who),
                            as_watch_reply(cache_key(where->first), *there.value, one.form));
    }
  }
}

void cache_table::send_back(rows::iterator where) {
  row& there = where->second;
  while (!there.watchers.empty()) {
    complete<watch_reply>(std::move(take(where, there.watchers.begin()).who),
                          watch_reply(look_again{}));
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
