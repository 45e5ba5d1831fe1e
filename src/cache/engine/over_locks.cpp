#include "cache/engine/over_locks.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::runtime {
namespace {

// The lock is renewed for so long, at most, just before the value is stored under it.
constexpr milliseconds time_to_store{5000};

// Completes on the value store's executor with what came in on the lock store's. `task` keeps
// both stores' contexts alive meanwhile, whichever handles the user drops.
template <class Reply, class Task>
auto bring_back(std::shared_ptr<store_core> const& values, handler<Reply> done, Task task) {
  return [executor = values->executor(), done = std::move(done),
          task = std::move(task)](result<Reply> reply) mutable {
    asio::post(executor, [done = std::move(done), reply = std::move(reply),
                          task = std::move(task)]() mutable {
      auto const last = std::move(task);  // goes after all that the handler holds
      std::move(done)(std::move(reply));
    });
  };
}

// On Redis a lock is a key as the entry is: they need different names.
resource lock_of(cache_key const& key) { return resource(key.str() + std::string(lock_suffix)); }

}  // namespace

template <class Reply, class Call>
void cache_over_locks::on_locks(handler<Reply> done, Call call) {
  asio::post(
      locks_->executor(),
      [locks = locks_, call = std::move(call),
       done = handler<Reply>(bring_back<Reply>(values_, std::move(done), task()))]() mutable {
        auto const& leases = locks->leases();
        if (!leases) return std::move(done)(result<Reply>(locks->closed_failure()));
        call(*leases, std::move(done));
      });
}

template <class Reply>
void cache_over_locks::refuse(std::string const& what, handler<Reply> done) const {
  detail::post_result<Reply>(
      values_->executor(), std::move(done),
      make_failure(errc::not_supported, "cannot " + what + ": the values are in " +
                                            values_->display_name() + " and their claims in " +
                                            locks_->display_name() +
                                            ", and it is one step in both; open the cache over " +
                                            values_->display_name() + " alone"));
}

void cache_over_locks::get(cache_key key, layout form, handler<cache_lookup> done) {
  auto const& values = values_->values();
  if (!values) {
    return detail::post_result<cache_lookup>(values_->executor(), std::move(done),
                                             values_->closed_failure());
  }
  values->get(std::move(key), form, std::move(done));
}

void cache_over_locks::claim(claim_request request, handler<claim_reply> done) {
  if (request.refresh_below > milliseconds{0}) {
    return refuse("refresh " + in_quotes(request.key.str()), std::move(done));
  }
  acquire_request lock{lock_of(request.key), request.owner, request.ttl};
  auto on_reply = [self = shared_from_this(), request = std::move(request),
                   done = std::move(done)](result<acquire_reply> reply) mutable {
    if (reply.has_error()) return std::move(done)(result<claim_reply>(reply.error()));
    if (auto const* other = std::get_if<busy>(&*reply)) {
      return std::move(done)(claim_reply(claim_busy{other->remaining}));
    }
    self->look_again_under_lock(std::move(request), std::get<grant>(*reply).fencing,
                                std::move(done));
  };
  on_locks<acquire_reply>(
      std::move(on_reply),
      [lock = std::move(lock)](lease_store& leases, handler<acquire_reply> h) mutable {
        leases.acquire(std::move(lock), std::move(h));
      });
}

void cache_over_locks::look_again_under_lock(claim_request request, fencing_token fencing,
                                             handler<claim_reply> done) {
  cache_key key = request.key;
  layout const form = request.form;
  auto on_reply = [self = shared_from_this(), request = std::move(request), fencing,
                   done = std::move(done)](result<cache_lookup> reply) mutable {
    if (reply.has_value() && !reply->has_value()) {
      return std::move(done)(claim_reply(claimed{fencing}));
    }
    result<claim_reply> answer = reply.has_error()
                                     ? result<claim_reply>(reply.error())
                                     : result<claim_reply>(cache_hit{**std::move(reply)});
    self->release_then<claim_reply>(request.key, request.owner, std::move(done), std::move(answer));
  };
  get(std::move(key), form, std::move(on_reply));
}

template <class Reply>
void cache_over_locks::release_then(cache_key const& key, owner_token const& owner,
                                    handler<Reply> done, result<Reply> reply) {
  auto on_released = [done = std::move(done),
                      reply = std::move(reply)](result<release_reply> const&) mutable {
    std::move(done)(std::move(reply));
  };
  on_locks<release_reply>(
      std::move(on_released),
      [name = lock_of(key), owner](lease_store& leases, handler<release_reply> h) {
        leases.release(name, owner, std::move(h));
      });
}

void cache_over_locks::extend(cache_key key, owner_token owner, milliseconds ttl,
                              handler<renew_reply> done) {
  on_locks<renew_reply>(std::move(done), [name = lock_of(key), owner = std::move(owner), ttl](
                                             lease_store& leases, handler<renew_reply> h) {
    leases.renew(name, owner, ttl, std::move(h));
  });
}

// The lock is proved one step before the value is stored; a pause in between is not noticed (S6 is
// narrowed to that step here, not closed).
void cache_over_locks::fill(fill_request request, handler<fill_reply> done) {
  auto const name = lock_of(request.key);
  auto const owner = request.owner;
  auto& fills = fills_[request.key.str()];
  ++fills.under_way;
  auto on_proved = [self = shared_from_this(), voids = fills.voids, request = std::move(request),
                    done = std::move(done)](result<renew_reply> const& reply) mutable {
    bool const voided = self->voided_since(request.key, voids);
    if (reply.has_error()) return std::move(done)(result<fill_reply>(reply.error()));
    if (*reply == renew_reply::lost) return std::move(done)(fill_reply::superseded);
    if (voided) {
      return self->release_then<fill_reply>(request.key, request.owner, std::move(done),
                                            fill_reply::superseded);
    }
    self->store_under_lock(std::move(request), std::move(done));
  };
  on_locks<renew_reply>(std::move(on_proved),
                        [name, owner, ttl = std::min(time_to_store, claim_ttl_)](
                            lease_store& leases, handler<renew_reply> h) {
                          leases.renew(name, owner, ttl, std::move(h));
                        });
}

bool cache_over_locks::voided_since(cache_key const& key, std::uint64_t voids) {
  auto const at = fills_.find(key.str());
  bool const voided = at->second.voids != voids;
  if (--at->second.under_way == 0) fills_.erase(at);
  return voided;
}

void cache_over_locks::void_fills(cache_key const& key) {
  if (auto const at = fills_.find(key.str()); at != fills_.end()) ++at->second.voids;
}

void cache_over_locks::store_under_lock(fill_request request, handler<fill_reply> done) {
  auto const key = request.key;
  auto const owner = request.owner;
  auto on_put = [self = shared_from_this(), key, owner,
                 done = std::move(done)](result<void> const& reply) mutable {
    result<fill_reply> answer = reply.has_error() ? result<fill_reply>(reply.error())
                                                  : result<fill_reply>(fill_reply::stored);
    self->release_then<fill_reply>(key, owner, std::move(done), std::move(answer));
  };
  put(put_request{key, std::move(request.value), request.ttl}, std::move(on_put));
}

void cache_over_locks::fail(cache_key key, owner_token owner, std::string, milliseconds,
                            handler<fill_reply> done) {
  auto on_reply = [done = std::move(done)](result<release_reply> const& reply) mutable {
    if (reply.has_error()) return std::move(done)(result<fill_reply>(reply.error()));
    std::move(done)(*reply == release_reply::released ? fill_reply::stored
                                                      : fill_reply::superseded);
  };
  on_locks<release_reply>(std::move(on_reply), [name = lock_of(key), owner = std::move(owner)](
                                                   lease_store& leases, handler<release_reply> h) {
    leases.release(name, owner, std::move(h));
  });
}

void cache_over_locks::put(put_request request, handler<void> done) {
  auto const& values = values_->values();
  if (!values) {
    return detail::post_result<void>(values_->executor(), std::move(done),
                                     values_->closed_failure());
  }
  values->put(std::move(request), std::move(done));
}

void cache_over_locks::invalidate(cache_key key, handler<bool> done) {
  auto const& values = values_->values();
  if (!values) {
    return detail::post_result<bool>(values_->executor(), std::move(done),
                                     values_->closed_failure());
  }
  values->invalidate(std::move(key), std::move(done));
}

void cache_over_locks::expire(cache_key key, milliseconds, handler<bool> done) {
  refuse("expire " + in_quotes(key.str()), std::move(done));
}

void cache_over_locks::time_left(cache_key key, handler<std::optional<milliseconds>> done) {
  refuse("tell the time left to " + in_quotes(key.str()), std::move(done));
}

void cache_over_locks::now(handler<std::chrono::microseconds> done) {
  refuse("tell the time of entries", std::move(done));
}

void cache_over_locks::watch(watch_request, handler<watch_reply> done) {
  detail::post_result<watch_reply>(values_->executor(), std::move(done), watch_reply(look_again{}));
}

}  // namespace herdlock::runtime
