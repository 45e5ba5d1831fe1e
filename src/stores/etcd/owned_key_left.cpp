// A key that its owner leaves to another one (lease_store::leave). It keeps its name, and with that
// its rank and its fencing token; its value says that it was left, and the number of its etcd lease
// to whom. So no request that the former owner sent concerns it, however late it comes: those that
// write or remove compare the value or the revision of the last write, and the etcd lease that they
// name has no key.
#include "stores/etcd/owned_key.hpp"

namespace herdlock::etcd {
namespace {

constexpr int most_writes_between = 3;  // by other handles of the owner

}  // namespace

// The look tells what became of an earlier request whose answer was lost.
asio::awaitable<result<release_reply>> owned_key::pass_on(owner_token to, milliseconds ttl) {
  auto const deadline = connections_->step_deadline();
  std::int64_t const next = lease_id(name_, to, 0);
  key_write const left{key_, to_value({ttl, std::string(to.label()), true}), next};
  bool made = false;
  bool perhaps_left = false;  // by a request whose answer was lost
  for (int i = 0; i < most_writes_between; ++i) {
    auto const found = co_await first_of_queue();
    if (!found.reply) co_return found.why;
    auto const* own = found.reply->first();
    if (!own || own->key != key_) break;
    bool const was_left = from_value(own->value).left;
    if (was_left && own->lease == next) co_return release_reply::released;
    if (was_left) break;
    if (!made) {
      failure const why = co_await make_lease(connections_, next, ttl, deadline);
      if (why.code) co_return why;
      made = true;
    }
    std::string const body = pass_on_request(prefix_, left, *own);
    auto const written = co_await connections_->ask(exchange::txn, body, deadline);
    // Without an answer the key may live with the new lease by now: it is not ended then.
    if (!written.reply) co_return written.why;
    if (written.reply->succeeded) co_return release_reply::released;
    perhaps_left = perhaps_left || written.attempts > 1;
  }
  // An earlier request may have made it, too.
  if (!perhaps_left) co_await revoke(next);
  co_return release_reply::lost;
}

// The owner that a key was left to gives it back.
asio::awaitable<removal> owned_key::remove_left() {
  auto const found = co_await first_of_queue();
  removal made;
  made.why = found.why;
  auto const* first = found.reply ? found.reply->first() : nullptr;
  bool const ours =
      first && from_value(first->value).left && first->lease == lease_id(name_, owner_, 0);
  if (!ours) co_return made;
  std::string const request = remove_unchanged_request(first->key, first->mod_revision);
  std::int64_t const lease = first->lease;
  made = co_await remove_by(request);
  if (made.removed) co_await revoke(lease);
  co_return made;
}

}  // namespace herdlock::etcd
