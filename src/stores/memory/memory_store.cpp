#include "stores/memory/memory_store.hpp"

#include <herdlock/url_scheme.hpp>

#include "stores/common/url_options.hpp"
#include "stores/memory/store_state.hpp"

namespace herdlock {
namespace memory {
namespace {

class store final : public lease_store, public cache_store {
 public:
  store(std::shared_ptr<store_state> where, asio::any_io_executor executor,
        std::string display_name)
      : state_(std::move(where)),
        home_(std::make_shared<endpoint>(std::move(executor))),
        display_name_(std::move(display_name)) {
    state_->join(home_);
  }

  ~store() override {
    state_->leave(*home_, make_failure(errc::canceled, display_name_ + " is being closed"));
  }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    start(request.name.str(), std::move(done),
          [&](auto& who, lease_table& leases, cache_table&, auto now) {
            return leases.acquire(request, who, now);
          });
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    reply(name.str(), std::move(done), [&](lease_table& leases, cache_table&, auto now) {
      return leases.renew(name, owner, now + ttl);
    });
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    reply(name.str(), std::move(done), [&](lease_table& leases, cache_table&, auto now) {
      return leases.release(name, owner, now);
    });
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    reply(name.str(), std::move(done),
          [&](lease_table& leases, cache_table&, auto now) { return leases.inspect(name, now); });
  }

  void force_release(resource name, handler<release_reply> done) override {
    reply(name.str(), std::move(done), [&](lease_table& leases, cache_table&, auto now) {
      return leases.release(name, std::nullopt, now);
    });
  }

  void list(list_request request, handler<lease_page> done) override {
    reply("leases", std::move(done),
          [&](lease_table& leases, cache_table&, auto) { return leases.list(request); });
  }

  void get(cache_key key, layout form, handler<cache_lookup> done) override {
    reply(key.str(), std::move(done),
          [&](lease_table&, cache_table& values, auto) { return values.get(key, form); });
  }

  void claim(claim_request request, handler<claim_reply> done) override {
    reply(request.key.str(), std::move(done),
          [&](lease_table&, cache_table& values, auto now) { return values.claim(request, now); });
  }

  void extend(cache_key key, owner_token owner, milliseconds ttl,
              handler<renew_reply> done) override {
    reply(key.str(), std::move(done), [&](lease_table&, cache_table& values, auto now) {
      return values.extend(key, owner, now + ttl);
    });
  }

  void fill(fill_request request, handler<fill_reply> done) override {
    std::string const key = request.key.str();
    reply(key, std::move(done), [&](lease_table&, cache_table& values, auto now) {
      return values.fill(std::move(request), now);
    });
  }

  void fail(cache_key key, owner_token owner, std::string error, milliseconds back_off,
            handler<fill_reply> done) override {
    cache_table::error_state state{std::move(error), back_off};
    reply(key.str(), std::move(done), [&](lease_table&, cache_table& values, auto now) {
      return values.fail(key, owner, std::move(state), now);
    });
  }

  void put(put_request request, handler<void> done) override {
    std::string const key = request.key.str();
    reply(key, std::move(done), [&](lease_table&, cache_table& values, auto now) {
      return values.put(std::move(request), now);
    });
  }

  void invalidate(cache_key key, handler<bool> done) override {
    reply(key.str(), std::move(done),
          [&](lease_table&, cache_table& values, auto) { return values.invalidate(key); });
  }

  void expire(cache_key key, milliseconds keep, handler<bool> done) override {
    reply(key.str(), std::move(done), [&](lease_table&, cache_table& values, auto now) {
      return values.expire(key, keep, now);
    });
  }

  void time_left(cache_key key, handler<std::optional<milliseconds>> done) override {
    reply(key.str(), std::move(done),
          [&](lease_table&, cache_table& values, auto now) { return values.time_left(key, now); });
  }

  // The one by which everything here ends, and so without a mutex.
  void now(handler<std::chrono::microseconds> done) override {
    auto const since = clock::now().time_since_epoch();
    detail::post_result<std::chrono::microseconds>(
        home_->executor, std::move(done), std::chrono::floor<std::chrono::microseconds>(since));
  }

  void watch(watch_request request, handler<watch_reply> done) override {
    start(request.key.str(), std::move(done),
          [&](auto& who, lease_table&, cache_table& values, auto now) {
            return values.watch(request, who, now);
          });
  }

 private:
  template <class T, class Work>
  void reply(std::string const& name, handler<T> done, Work work) {
    tell<T>(name, std::move(done), state_->visit(work));
  }

  template <class T>
  void tell(std::string const& name, handler<T> done, result<T> outcome) {
    if (!outcome) {
      failure const why = outcome.error();
      outcome = failure{why.code, display_name_ + ": " + in_quotes(name) + ": " + why.message};
    }
    detail::post_result<T>(home_->executor, std::move(done), std::move(outcome));
  }

  // `work` either knows the outcome, or queues the waiter. Its wait may be over, by the doing of
  // another thread, before the slot is set here: the result comes behind this call, on this
  // executor, and clears the slot.
  template <class T, class Work>
  void start(std::string const& name, handler<T> done, Work work) {
    auto slot = asio::get_associated_cancellation_slot(done);
    waiter<T> who{home_, 0, std::move(done)};
    std::uint64_t id = 0;
    auto outcome = state_->visit([&](lease_table& leases, cache_table& values, auto now) {
      who.id = id = state_->next_id();
      return work(who, leases, values, now);
    });
    if (outcome) return tell<T>(name, std::move(who.done), std::move(*outcome));
    if (!slot.is_connected()) return;
    failure why = make_failure(errc::canceled,
                               display_name_ + ": " + in_quotes(name) + ": the wait was cancelled");
    slot.assign([where = std::weak_ptr(state_), id, why = std::move(why)](auto) {
      if (auto alive = where.lock()) alive->cancel(id, why);
    });
  }

  std::shared_ptr<store_state> state_;
  std::shared_ptr<endpoint> home_;
  std::string display_name_;
};

constexpr stores::url_option options[] = {
    {"max_entries", stores::option_kind::count, "1000000", "from 1",
     "leases, values, claims and errors together; one more is overloaded"},
    {"max_waiters", stores::option_kind::count, "1000000", "from 1",
     "waiters for leases and for loads together; one more is overloaded"},
    {"max_bytes", stores::option_kind::count, "1073741824", "from 1",
     "names, values and errors together; what would pass it is overloaded, and changes nothing"},
};
constexpr stores::scheme_options schemes[] = {{"memory", {options}}};

}  // namespace
}  // namespace memory

result<backend> open_memory(store_url url, asio::any_io_executor executor) {
  stores::option_reader in(url, memory::schemes[0]);
  std::string display_name = url.redacted();
  if (!url.host.empty() || !url.user.empty() || !url.password.empty() ||
      url.path.starts_with('/')) {
    in.refuse("write memory: or memory:NAME");
  }
  memory::bounds const limits{in.count("max_entries"), in.count("max_waiters"),
                              in.count("max_bytes")};
  if (failure bad = in.end(); bad.code) return bad;
  auto store = std::make_shared<memory::store>(memory::store_state::named(url.path, limits),
                                               std::move(executor), display_name);
  store_traits traits{.queues = true, .pushes_fills = true};
  return backend{store, store, traits, std::move(display_name)};
}

result<examination> examine_memory(store_url) {
  examination made;
  made.find({"memory.scope", severity::warning, "memory: lives in this process",
             "it excludes nobody in another process or on another machine",
             "use sqlite:PATH for the processes of one machine, a server for several machines"});
  return made;
}

std::span<url_scheme const> v0::memory_schemes() {
  static constexpr url_scheme schemes[] = {
      {"memory", open_memory, examine_memory},
  };
  return schemes;
}

}  // namespace herdlock

std::span<herdlock::stores::scheme_options const> herdlock::stores::memory_options() {
  return memory::schemes;
}
