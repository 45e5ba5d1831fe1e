#include "stores/memory/memory_store.hpp"

#include <herdlock/url_scheme.hpp>

#include "stores/common/client_survey.hpp"
#include "stores/common/url_options.hpp"
#include "stores/memory/exchange_port.hpp"
#include "stores/memory/handle.hpp"

namespace herdlock {
namespace memory {
namespace {

class store final : public lease_store, public cache_store {
 public:
  explicit store(handle_on_space on) : on_(std::move(on)) { on_.state->join(on_.home); }

  ~store() override {
    on_.state->leave(*on_.home,
                     make_failure(errc::canceled, on_.display_name + " is being closed"));
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

  void leave(leave_request request, handler<release_reply> done) override {
    reply(request.name.str(), std::move(done),
          [&](lease_table& leases, cache_table&, auto now) { return leases.leave(request, now); });
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
        on_.home->executor, std::move(done), std::chrono::floor<std::chrono::microseconds>(since));
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
    on_.tell<T>(name, std::move(done), on_.state->visit(work));
  }

  // `work` either knows the outcome, or queues the waiter. Its wait may be over, by the doing of
  // another thread, before the slot is set here: the result comes behind this call, on this
  // executor, and clears the slot.
  template <class T, class Work>
  void start(std::string const& name, handler<T> done, Work work) {
    auto slot = asio::get_associated_cancellation_slot(done);
    waiter<T> who{on_.home, 0, std::move(done)};
    std::uint64_t id = 0;
    auto outcome = on_.state->visit([&](lease_table& leases, cache_table& values, auto now) {
      who.id = id = on_.state->next_id();
      return work(who, leases, values, now);
    });
    if (outcome) return on_.tell<T>(name, std::move(who.done), std::move(*outcome));
    if (!slot.is_connected()) return;
    failure why = make_failure(
        errc::canceled, on_.display_name + ": " + in_quotes(name) + ": the wait was cancelled");
    slot.assign([where = std::weak_ptr(on_.state), id, why = std::move(why)](auto) {
      if (auto alive = where.lock()) alive->cancel(id, why);
    });
  }

  handle_on_space const on_;
};

constexpr stores::url_option options[] = {
    {"max_entries", stores::option_kind::count, "1000000", "from 1",
     "leases, values, claims, errors, reports and rules together; one more is overloaded"},
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
  memory::handle_on_space const on{memory::store_state::named(url.path, limits),
                                   std::make_shared<memory::endpoint>(executor), display_name};
  auto const store = std::make_shared<memory::store>(on);
  auto const exchange = std::make_shared<memory::exchange_port>(on);
  store_traits traits{.queues = true, .pushes_fills = true, .leaves_leases = true};
  backend made{store, store, traits, std::move(display_name)};
  made.reports = exchange;
  made.rules = exchange;
  return made;
}

// From within the process: there is nothing else that could see it.
result<survey> survey_memory(store_url url, survey_request const& request) {
  if (request.source != survey_source::clients) return stores::needs_redis(url, request.source);
  if (url.path.empty()) {
    return make_failure(
        errc::not_supported,
        url.redacted() + ": nobody else sees a store without a name; use memory:NAME");
  }
  stores::client_survey made(request);
  if (auto const space = memory::store_state::find(url.path)) {
    auto const kept = space->visit_exchange([](auto& table, auto) { return table.kept(); });
    for (auto const& [topic, texts] : kept) {
      if (made.takes(topic)) made.add(topic, {texts.begin(), texts.end()});
    }
  } else {
    made.note(url.redacted() + " is not open in this process");
  }
  stores::tell_progress(request, 1);
  return std::move(made).complete("a look at this process");
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
      {"memory", open_memory, examine_memory, survey_memory},
  };
  return schemes;
}

}  // namespace herdlock

std::span<herdlock::stores::scheme_options const> herdlock::stores::memory_options() {
  return memory::schemes;
}
