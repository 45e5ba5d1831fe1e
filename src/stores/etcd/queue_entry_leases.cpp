// The leases of an entry: to get one, to keep it, to change it.
#include <boost/asio/use_awaitable.hpp>

#include "stores/etcd/queue_entry.hpp"

namespace herdlock::etcd {
namespace {

bool lease_exists(call_outcome const& outcome) {
  return outcome.refused.code == status::failed_precondition &&
         outcome.refused.message.find("lease already exists") != std::string::npos;
}

// The ttl of a present lease: from etcd's count in whole seconds and what the holder asked for.
milliseconds estimate(lease_reply const& lease, holder_note const& note) {
  milliseconds const left = std::chrono::seconds(std::max<std::int64_t>(lease.ttl, 0));
  milliseconds const granted = std::chrono::seconds(lease.granted_ttl);
  milliseconds const asked = note.ttl > milliseconds{0} ? note.ttl : granted;
  return std::max(asked - (granted - left), milliseconds{1});
}

}  // namespace

failure not_understood() {
  return make_failure(errc::protocol,
                      "the answer is not one of etcd's v3 API; is it older than 3.4?");
}

bool lease_is_gone(call_outcome const& outcome) {
  return !outcome.why.code && outcome.refused.code == status::not_found;
}

clock::time_point after(clock::time_point since, std::int64_t seconds) {
  return since + std::chrono::seconds(seconds);
}

std::int64_t lease_seconds(milliseconds ttl) {
  return std::chrono::ceil<std::chrono::seconds>(ttl).count();
}

asio::awaitable<milliseconds> time_left(std::shared_ptr<connection_pool> connections,
                                        key_entry const& holder, clock::time_point deadline) {
  if (holder.lease == 0) co_return milliseconds{0};  // for ever
  std::string const body = lease_request(holder.lease);
  auto const outcome = co_await connections->call(path::time_left, body, deadline);
  auto const lease = outcome.ok() ? lease_in(outcome.body) : std::nullopt;
  if (!lease) co_return milliseconds{0};
  co_return estimate(*lease, from_value(holder.value));
}

asio::awaitable<failure> queue_entry::take_lease(milliseconds ttl, clock::time_point deadline,
                                                 proof wanted) {
  auto const seconds = lease_seconds(ttl);
  lease_ttl_ = seconds;
  if (auto const idle = store_.leases->take(seconds); idle.lease != 0) {
    lease_ = idle.lease;
    alive_until_ = idle.alive_until;
    keep_at_ = alive_until_ - milliseconds(std::chrono::seconds(seconds)) * 2 / 3;
    if (wanted == proof::of_lately && clock::now() < keep_at_) co_return failure{};
    alive_until_ = {};
    bool const alive = co_await keep_alive(lease_);
    if (alive) co_return failure{};
    store_.leases->end(lease_);
  }
  lease_ = new_lease_id();
  std::string const body = grant_request(lease_, seconds);
  auto const sent = clock::now();
  auto const outcome = co_await store_.connections->call(path::grant, body, deadline);
  // The number is nobody else's: an attempt without an answer made it.
  bool const there = outcome.attempts > 1 && lease_exists(outcome);
  if (!there && !outcome.ok()) co_return failure_of(outcome);
  auto const lease = there ? lease_reply{seconds, seconds} : lease_in(outcome.body);
  if (!lease) co_return not_understood();
  alive_until_ = after(sent, std::max<std::int64_t>(lease->ttl, 0));
  keep_at_ = sent + std::chrono::seconds(lease->ttl) / 3;
  co_return failure{};
}

// Another handle, or an earlier request of this one that was given up, made the key. It goes on
// with our lease from now on: what still names the other one (a revocation that is on its way, its
// maker's next key) is not about this key any more, and the other one is left to its maker.
//
// The time that was left; it is not prolonged. Nothing without a reason: the key is gone.
asio::awaitable<std::optional<milliseconds>> queue_entry::adopt(key_entry& own, milliseconds ttl,
                                                                failure& why) {
  auto const longest = std::max(ttl, from_value(own.value).ttl);
  if (lease_ttl_ < lease_seconds(longest)) {
    give_lease_away();
    why = co_await take_lease(longest, step_deadline(), proof::of_now);
    if (why.code) co_return std::nullopt;
  }
  std::string const body = rewrite_request({key_, own.value, lease_}, own.create_revision);
  auto const outcome = co_await store_.connections->call(path::txn, body, step_deadline());
  auto const written = outcome.ok() ? txn_in(outcome.body) : std::nullopt;
  why = failure_of(outcome);
  if (!why.code && !written) why = not_understood();
  if (lease_is_gone(outcome)) {
    store_.leases->distrust();
    why = {};
  }
  if (!written) {  // the key may live with our lease by now: it is not ended
    forget();
    co_return std::nullopt;
  }
  if (!written->succeeded) {
    reusable_ = reusable_ && outcome.attempts == 1;
    give_lease_away();
    co_return std::nullopt;
  }
  reusable_ = outcome.attempts == 1;
  adopted_ = true;
  auto const left = co_await time_left(store_.connections, own, step_deadline());
  // Who made it may have renewed it until now.
  bool const alive = co_await keep_alive(lease_);
  if (!alive) {
    forget();
    co_return std::nullopt;
  }
  own.lease = lease_;
  own.mod_revision = written->revision;
  co_return left;
}

// False: it has ended. Without an answer it counts as alive until it must have ended.
asio::awaitable<bool> queue_entry::keep_alive(std::int64_t lease) {
  std::string const body = lease_request(lease);
  auto const sent = clock::now();
  auto const outcome = co_await store_.connections->call(path::keep_alive, body, step_deadline());
  auto const reply = outcome.ok() ? lease_in(outcome.body) : std::nullopt;
  if (!reply) {
    keep_at_ = clock::now() + pause_after_failure;
    co_return clock::now() < alive_until_;
  }
  if (reply->ttl <= 0) co_return false;
  alive_until_ = after(sent, reply->ttl);
  keep_at_ = sent + std::chrono::seconds(reply->ttl) / 3;
  co_return true;
}

// Another ttl, or another process held it until now (whose own count of the ttl must not end it any
// more): the key is written anew, with a lease of its own; the write tells the two apart.
asio::awaitable<renew_reply> queue_entry::move_to_new_lease(key_entry own, milliseconds ttl,
                                                            failure& why) {
  auto const deadline = step_deadline();
  std::int64_t const next = lease_id(name_, owner_, own.mod_revision);
  std::string const grant_body = grant_request(next, lease_seconds(ttl));
  auto const sent = clock::now();
  auto const granted = co_await store_.connections->call(path::grant, grant_body, deadline);
  if (lease_exists(granted)) {
    why = co_await freshen(next, ttl, deadline);
  } else {
    why = failure_of(granted);
  }
  if (why.code) co_return renew_reply::lost;
  key_write const entry{key_, to_value({ttl, std::string(owner_.label())}), next};
  std::string const body = rewrite_request(entry, own.create_revision);
  auto const outcome = co_await store_.connections->call(path::txn, body, deadline);
  auto const written = outcome.ok() ? txn_in(outcome.body) : std::nullopt;
  why = failure_of(outcome);
  if (!why.code && !written) why = not_understood();
  // Without an answer the key may live with the new lease by now: it is not ended then.
  if (why.code) co_return renew_reply::lost;
  if (!written->succeeded) {
    co_await revoke(next);
    co_return renew_reply::lost;
  }
  lease_ = next;
  reusable_ = false;
  alive_until_ = after(sent, lease_seconds(ttl));
  hold(own.create_revision, written->revision, ttl);
  co_await revoke(own.lease);
  co_return renew_reply::renewed;
}

// An earlier attempt without an answer made this lease: it must last for the whole ttl from now on.
asio::awaitable<failure> queue_entry::freshen(std::int64_t lease, milliseconds ttl,
                                              clock::time_point deadline) {
  std::string const body = lease_request(lease);
  auto const outcome = co_await store_.connections->call(path::keep_alive, body, deadline);
  auto const kept = outcome.ok() ? lease_in(outcome.body) : std::nullopt;
  if (!outcome.ok()) co_return failure_of(outcome);
  if (kept && kept->ttl >= lease_seconds(ttl)) co_return failure{};
  co_return make_failure(errc::unavailable, "a lease of an earlier attempt is in the way");
}

// If it cannot be told: nobody keeps the lease alive, so it ends by itself.
asio::awaitable<void> queue_entry::revoke(std::int64_t lease) {
  if (lease == 0) co_return;
  std::string const body = lease_request(lease);
  co_await store_.connections->call(path::revoke, body, step_deadline());
}

}  // namespace herdlock::etcd
