#include "stores/etcd/owned_key.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::etcd {
namespace {

bool lease_exists(refusal const& refused) {
  return refused.code == status::failed_precondition &&
         refused.message.find("lease already exists") != std::string::npos;
}

// The ttl of a present lease: from etcd's count in whole seconds and what the holder asked for.
milliseconds estimate(lease_reply const& lease, holder_note const& note) {
  milliseconds const left = std::chrono::seconds(std::max<std::int64_t>(lease.ttl, 0));
  milliseconds const granted = std::chrono::seconds(lease.granted_ttl);
  milliseconds const asked = note.ttl > milliseconds{0} ? note.ttl : granted;
  return std::max(asked - (granted - left), milliseconds{1});
}

// An earlier attempt without an answer made this lease: it must last for the whole ttl from now on.
asio::awaitable<failure> freshen(std::shared_ptr<connection_pool> connections, std::int64_t lease,
                                 milliseconds ttl, clock::time_point deadline) {
  std::string const body = lease_request(lease);
  auto const kept = co_await connections->ask(exchange::keep_alive, body, deadline);
  if (!kept.ok) co_return kept.why;
  if (kept.reply && kept.reply->ttl >= lease_seconds(ttl)) co_return failure{};
  co_return make_failure(errc::unavailable, "a lease of an earlier attempt is in the way");
}

}  // namespace

std::int64_t lease_seconds(milliseconds ttl) {
  return std::chrono::ceil<std::chrono::seconds>(ttl).count();
}

asio::awaitable<failure> make_lease(std::shared_ptr<connection_pool> connections,
                                    std::int64_t lease, milliseconds ttl,
                                    clock::time_point deadline) {
  std::string const body = grant_request(lease, lease_seconds(ttl));
  auto const granted = co_await connections->ask(exchange::grant, body, deadline);
  if (!lease_exists(granted.refused)) co_return granted.why;
  failure const why = co_await freshen(connections, lease, ttl, deadline);
  co_return why;
}

asio::awaitable<milliseconds> time_left(std::shared_ptr<connection_pool> connections,
                                        key_entry const& holder, clock::time_point deadline) {
  if (holder.lease == 0) co_return milliseconds{0};  // for ever
  std::string const body = lease_request(holder.lease);
  auto const lease = co_await connections->ask(exchange::time_left, body, deadline);
  if (!lease.reply) co_return milliseconds{0};
  co_return estimate(*lease.reply, from_value(holder.value));
}

owned_key::owned_key(std::shared_ptr<connection_pool> connections,
                     std::shared_ptr<lease_pool> leases, resource name, owner_token owner)
    : connections_(std::move(connections)),
      leases_(std::move(leases)),
      name_(std::move(name)),
      owner_(std::move(owner)),
      prefix_(key_prefix(name_)),
      key_(key_of(name_, lease_id(name_, owner_, 0))) {}

std::string owned_key::value(milliseconds ttl) const {
  return to_value({ttl, std::string(owner_.label())});
}

void owned_key::found_at(std::int64_t created, std::int64_t modified) {
  created_ = created;
  modified_ = modified;
}

void owned_key::proved(clock::time_point sent, std::int64_t seconds) {
  lease_.alive_until = sent + std::chrono::seconds(seconds);
  lease_.keep_at = sent + std::chrono::seconds(seconds) / 3;
}

void owned_key::keep_no_later_than(clock::time_point when) {
  lease_.keep_at = std::min(lease_.keep_at, when);
}

void owned_key::forget() {
  adopted_ = false;
  lease_.reusable = false;
  lease_.number = 0;
}

// ------------------------------------------------------------------------------ the lease

asio::awaitable<failure> owned_key::take_lease(milliseconds ttl, proof wanted) {
  auto const deadline = connections_->step_deadline();
  auto const seconds = lease_seconds(ttl);
  lease_.seconds = seconds;
  if (auto const idle = leases_->take(seconds)) {
    lease_.number = idle->lease;
    lease_.alive_until = idle->alive_until;
    lease_.keep_at = idle->alive_until - milliseconds(std::chrono::seconds(seconds)) * 2 / 3;
    if (wanted == proof::of_lately && clock::now() < lease_.keep_at) co_return failure{};
    lease_.alive_until = {};
    bool const alive = co_await keep_alive();
    if (alive) co_return failure{};
    end_lease();
  }
  lease_.number = new_lease_id();
  std::string const body = grant_request(lease_.number, seconds);
  auto const sent = clock::now();
  auto const made = co_await connections_->ask(exchange::grant, body, deadline);
  // The number is nobody else's: an attempt without an answer made it.
  bool const there = made.attempts > 1 && lease_exists(made.refused);
  if (!there && !made.reply) co_return made.why;
  proved(sent, there ? seconds : std::max<std::int64_t>(made.reply->ttl, 0));
  co_return failure{};
}

// Why: docs/stores/etcd.md#keep-alives-are-single-exchanges
asio::awaitable<bool> owned_key::keep_alive() {
  std::string const body = lease_request(lease_.number);
  auto const sent = clock::now();
  auto const kept = co_await connections_->ask(exchange::keep_alive, body);
  if (!kept.reply) {
    lease_.keep_at = clock::now() + pause_after_failure;
    co_return clock::now() < lease_.alive_until;
  }
  if (kept.reply->ttl <= 0) co_return false;
  proved(sent, kept.reply->ttl);
  co_return true;
}

// If it cannot be told: nobody keeps the lease alive, so it ends by itself.
asio::awaitable<void> owned_key::revoke(std::int64_t lease) {
  if (lease == 0) co_return;
  std::string const body = lease_request(lease);
  co_await connections_->call(path::revoke, body, connections_->step_deadline());
}

void owned_key::give_lease_away() {
  auto const lease = std::exchange(lease_.number, 0);
  if (!std::exchange(lease_.reusable, false)) return leases_->end(lease);
  leases_->keep(lease, lease_.seconds, lease_.alive_until);
}

// -------------------------------------------------------------------------------- the key

asio::awaitable<answer<found_entries>> owned_key::put(joining how, milliseconds ttl) {
  key_write const own{key_, value(ttl), lease_.number};
  bool const waits = how == joining::to_wait;
  std::string const body = waits ? join_request(prefix_, own) : take_request(prefix_, own);
  created_ = 0;  // what is there from now on may be of this request
  auto const written = co_await connections_->ask(exchange::txn, body);
  // An attempt that was lost may still come, after the key has gone: its lease must be gone, too.
  lease_.reusable = written.ok && written.attempts == 1;
  if (lease_is_gone(written.refused)) {
    leases_->distrust();
    forget();
  }
  answer<found_entries> found;
  found.refused = written.refused;
  found.why = written.why;
  if (written.reply) found.reply = entries_in(*written.reply, how);
  if (!found.why.code && !found.reply) found.why = not_understood();
  co_return found;
}

// Nothing: the answer has another form than the question asks for.
std::optional<found_entries> owned_key::entries_in(txn_reply const& found, joining how) const {
  key_entry const made{key_, "", found.revision, found.revision, lease_.number};
  if (!found.succeeded) {
    if (found.ranges.size() != 2 || !found.ranges[1].first()) return std::nullopt;
    auto const* own = found.ranges[0].first();
    return found_entries{own ? *own : key_entry{}, *found.ranges[1].first()};
  }
  if (how == joining::if_free) return found_entries{made, made};
  if (found.ranges.size() != 1) return std::nullopt;
  auto const& last = found.ranges[0].entries;
  if (last.empty() || last[0].key != key_) return std::nullopt;
  return found_entries{made, last.size() > 1 ? last[1] : made,
                       last.size() > 2 ? last[2].key : std::string(), found.revision};
}

// Another handle, or an earlier request of this one that was given up, made the key. It goes on
// with our lease from now on, and the other one is left to its maker.
// Why: docs/stores/etcd.md#a-key-of-another-handle
//
// The time that was left; it is not prolonged. Nothing without a reason: the key is gone.
asio::awaitable<std::optional<milliseconds>> owned_key::adopt(key_entry& own, milliseconds ttl,
                                                              failure& why) {
  auto const longest = std::max(ttl, from_value(own.value).ttl);
  if (lease_.seconds < lease_seconds(longest)) {
    give_lease_away();
    why = co_await take_lease(longest, proof::of_now);
    if (why.code) co_return std::nullopt;
  }
  std::string const body = rewrite_request({key_, own.value, lease_.number}, own.create_revision);
  auto const written = co_await connections_->ask(exchange::txn, body);
  why = written.why;
  if (lease_is_gone(written.refused)) {
    leases_->distrust();
    why = {};
  }
  if (!written.reply) {  // the key may live with our lease by now: it is not ended
    forget();
    co_return std::nullopt;
  }
  if (!written.reply->succeeded) {
    lease_.reusable = lease_.reusable && written.attempts == 1;
    give_lease_away();
    co_return std::nullopt;
  }
  lease_.reusable = written.attempts == 1;
  adopted_ = true;
  auto const left = co_await time_left(connections_, own, connections_->step_deadline());
  // Who made it may have renewed it until now.
  bool const alive = co_await keep_alive();
  if (!alive) {
    forget();
    co_return std::nullopt;
  }
  own.lease = lease_.number;
  own.mod_revision = written.reply->revision;
  co_return left;
}

// The keep-alive comes before the look: whoever goes on with the key after the look sees that the
// lease was kept alive.
asio::awaitable<renewal> owned_key::renew(milliseconds ttl, milliseconds present) {
  auto const sent = clock::now();
  renewal made;
  std::int64_t kept = 0;
  if (ttl == present) {
    std::string const body = lease_request(lease_.number);
    auto const alive = co_await connections_->ask(exchange::keep_alive, body);
    made.why = alive.why;
    if (!alive.reply) co_return made;
    kept = alive.reply->ttl;
  }
  auto const found = co_await first_of_queue();
  made.why = found.why;
  if (!found.reply) co_return made;
  auto const* first = found.reply->first();
  if (!first || first->key != key_ || from_value(first->value).left) co_return made;
  made.key_was_ours = true;
  if (first->mod_revision == modified_ && kept >= lease_seconds(ttl)) {
    proved(sent, kept);
    made.reply = renew_reply::renewed;
    co_return made;
  }
  key_entry const own = *first;
  made = co_await move_to_new_lease(own, ttl);
  co_return made;
}

// Another ttl, or another process held it until now (whose own count of the ttl must not end it any
// more): the key is written anew, with a lease of its own; the write tells the two apart.
asio::awaitable<renewal> owned_key::move_to_new_lease(key_entry own, milliseconds ttl) {
  auto const deadline = connections_->step_deadline();
  std::int64_t const next = lease_id(name_, owner_, own.mod_revision);
  auto const sent = clock::now();
  failure const why = co_await make_lease(connections_, next, ttl, deadline);
  renewal made{why, renew_reply::lost, true};
  if (why.code) co_return made;
  key_write const entry{key_, value(ttl), next};
  std::string const body = rewrite_request(entry, own.create_revision);
  auto const written = co_await connections_->ask(exchange::txn, body, deadline);
  // Without an answer the key may live with the new lease by now: it is not ended then.
  made.why = written.why;
  if (made.why.code) co_return made;
  if (!written.reply->succeeded) {
    co_await revoke(next);
    co_return made;
  }
  lease_.number = next;
  lease_.reusable = false;
  proved(sent, lease_seconds(ttl));
  found_at(own.create_revision, written.reply->revision);
  made.reply = renew_reply::renewed;
  made.moved_from = own.lease;
  co_return made;
}

asio::awaitable<removal> owned_key::remove_by(std::string const& request) {
  auto const found = co_await connections_->ask(exchange::txn, request);
  removal made;
  made.attempts = found.attempts;
  made.why = found.why;
  if (!found.reply) co_return made;
  made.removed = found.reply->succeeded;
  auto const& seen = found.reply->ranges;
  made.not_there = !made.removed && seen.size() == 1 && !seen[0].first();
  if (!made.removed) co_return made;
  made.was_first = made.with_our_lease = seen.empty();
  if (seen.size() == 2 && seen[0].first()) {
    made.with_our_lease = seen[0].first()->lease == lease_.number;
    made.was_first = seen[1].first() && seen[1].first()->key == key_;
  }
  co_return made;
}

// Why: docs/stores/etcd.md#releases-compare-a-revision
asio::awaitable<removal> owned_key::remove_unchanged() {
  std::string const request = remove_unchanged_request(key_, modified_);
  auto const made = co_await remove_by(request);
  co_return made;
}

asio::awaitable<removal> owned_key::remove(removing what, std::int64_t created) {
  removal made;
  if (what == removing::held) made = co_await remove_unchanged();
  if (made.why.code || made.removed || made.not_there) co_return made;
  int const attempts = made.attempts;
  std::string const request = leave_request(prefix_, key_, created);
  made = co_await remove_by(request);
  made.attempts = std::max(made.attempts, attempts);
  bool const nothing = !made.why.code && !made.removed && created == 0;
  if (nothing) made = co_await remove_left();
  co_return made;
}

asio::awaitable<answer<range_reply>> owned_key::first_of_queue() {
  std::string const request = list_request(prefix_, 1);
  auto const found = co_await connections_->ask(exchange::range, request);
  co_return found;
}

asio::awaitable<answer<range_reply>> owned_key::ours_and_two_before(reading way) {
  std::string const request = look_request(prefix_, created_, way);
  auto const found = co_await connections_->ask(exchange::range, request);
  co_return found;
}

// The member that told the news is asked, without the others; the revision tells that its answer is
// not older than the news.
// Why: docs/stores/etcd.md#a-look-asks-one-member
asio::awaitable<sighting> owned_key::look(std::int64_t told_at) {
  sighting seen;
  seen.sent = clock::now();
  auto const way = told_at > 0 ? reading::of_the_member : reading::of_the_cluster;
  auto found = co_await ours_and_two_before(way);
  if (found.reply && found.reply->revision < std::max(told_at, created_)) {
    seen.sent = clock::now();
    found = co_await ours_and_two_before(reading::of_the_cluster);
  }
  if (!found.reply) co_return seen;
  seen.what = sighting::kind::gone;
  auto const& all = found.reply->entries;
  if (all.empty() || all[0].key != key_ || all[0].create_revision != created_) co_return seen;
  seen.what = all.size() > 1 ? sighting::kind::behind : sighting::kind::first;
  seen.found.own = all[0];
  modified_ = all[0].mod_revision;
  if (all.size() > 1) seen.found.before = all[1];
  if (all.size() > 2) seen.found.two_before = all[2].key;
  // With another lease, the key goes on with another handle of the owner, which may end it.
  if (all[0].lease == lease_.number) seen.found.seen_at = found.reply->revision;
  co_return seen;
}

void grant_it(waiter& op, std::int64_t created, clock::time_point sent, milliseconds left) {
  grant_validity const validity{sent, std::clamp(left, milliseconds{0}, op.request.ttl)};
  op.complete(acquire_reply(grant{fencing_token{static_cast<std::uint64_t>(created)}, validity}));
}

asio::awaitable<void> answer_busy(std::shared_ptr<connection_pool> connections,
                                  std::shared_ptr<waiter> op, key_entry first) {
  auto const deadline = connections->step_deadline();
  busy reply{from_value(first.value).label, milliseconds{0}};
  reply.remaining = co_await time_left(connections, first, deadline);
  op->complete(acquire_reply(std::move(reply)));
}

}  // namespace herdlock::etcd
