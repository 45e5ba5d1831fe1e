// The calls of cache<T> that load what is missing: of one key, and of many.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <herdlock/cache_near_calls.hpp>
#include <herdlock/detail/cache_many.hpp>

namespace herdlock {
inline namespace v0 {

/// A part of cache<T>.
template <class T, class Codec>
class cache_load_calls : public cache_near_calls<T, Codec> {
 public:
  /// `void(failure, std::optional<T>)`: the value, or nothing when there is no such thing. A
  /// cache_key is a text, too.
  ///
  /// `loader` is called with a load_context, or with nothing, and returns
  /// boost::asio::awaitable<std::optional<T>>; it runs on the handler's associated executor (a
  /// coroutine's own), which must live as long as the load, else on the store's executor, which it
  /// must not block. Nothing becomes a negative entry; an exception a failed load. Name it (GCC 12:
  /// no lambda that owns something inside of a co_await expression).
  ///
  /// The loader runs once for the call, again only when it was stopped because its claim was lost,
  /// and not at all when another's load brings the value. While it runs the call does not complete:
  /// what it uses has to live that long. A caller that does not wait for the completion
  /// (asio::detached, a future that is dropped) or destroys the executor must see to it that the
  /// loader owns what it uses.
  ///
  /// Errors: errc::load_failed with the text of the loader's exception; timed_out after
  /// options.wait; overloaded; invalid_name (the key is no name, or too long with the prefix);
  /// wrong_type (the key holds something of another kind); canceled; invalid_value for a T that
  /// throws when it is copied, and where an option (soft_timeout, refresh_every) needs a loader
  /// that the cache owns. Cancellation: all types, at once, but while its loader runs: that is
  /// cancelled (terminal) unless others in this process wait for it, and the call completes when it
  /// has ended: with the value if one came.
  template <class Loader, class Token = boost::asio::deferred_t>
  requires detail::is_coroutine_loader<Loader>
  auto async_get_or_load(std::string_view key, Loader loader, Token&& token = {}) const {
    static_assert(
        detail::coroutine_loader_of<Loader, T>,
        "the loader of async_get_or_load is called with a herdlock::load_context, or with "
        "nothing, and returns a boost::asio::awaitable<std::optional<T>>");
    auto start = [core = core_, key = std::string(key),
                  loader = std::move(loader)](auto h) mutable {
      using handler_type = decltype(h);
      using call_loader = detail::coroutine_loader<T, Codec, Loader>;
      auto executor = detail::loader_executor(h, core->get_executor());
      detail::start_call<detail::load_reply<T>, handler_type>(
          *core, key, std::move(h), call_loader{std::move(loader), std::move(executor)});
    };
    return this->template initiate<std::optional<T>>(std::move(start), std::forward<Token>(token));
  }

  /// The same by the loader of the cache, which goes on when the call is over: errc::invalid_value
  /// where it has none.
  template <class Token = boost::asio::deferred_t>
  requires(!detail::is_coroutine_loader<std::decay_t<Token>>) auto async_get_or_load(
      std::string_view key, Token&& token = {}) const {
    auto start = [core = core_, key = std::string(key)](auto h) mutable {
      using handler_type = decltype(h);
      detail::start_call<detail::load_reply<T>, handler_type>(*core, key, std::move(h),
                                                              detail::loader_of_cache{});
    };
    return this->template initiate<std::optional<T>>(std::move(start), std::forward<Token>(token));
  }

  /// The values of many keys: `void(failure, std::vector<result<std::optional<T>>>)`, each key's
  /// own in the order of the keys, with the errors of async_get_or_load; the failure is never set.
  ///
  /// The keys are read together. `loader` is called once with those that this process is to load
  /// (`std::vector<std::string> const&`, without the prefix; and with a std::stop_token, if it
  /// takes one, which is triggered when none of them has a use for it any more), and returns
  /// boost::asio::awaitable<Values>, where Values is a map from key to T, std::optional<T> or a
  /// result of one of these; a key that is not in it has no value. The loads of others are waited
  /// for meanwhile, and nothing is claimed while the loader runs, so that calls whose keys overlap
  /// never wait for each other in a circle. Should another fail to load a key, or more keys be
  /// missing than max_loads allows at once, the loader is called again with what is left. Executor,
  /// exceptions and cancellation as for async_get_or_load.
  template <class Loader, class Token = boost::asio::deferred_t>
  requires detail::is_coroutine_many_loader<Loader>
  auto async_get_many_or_load(std::vector<std::string> keys, Loader loader,
                              Token&& token = {}) const {
    static_assert(
        detail::coroutine_many_loader_of<Loader, T>,
        "the loader of async_get_many_or_load is called with a "
        "std::vector<std::string> const& and returns a boost::asio::awaitable of a map from "
        "key to T");
    auto start = [core = core_, keys = std::move(keys),
                  loader = std::move(loader)](auto h) mutable {
      using loads_type = detail::coroutine_many<T, Codec, Loader>;
      auto where = detail::loader_executor(h, core->get_executor());
      detail::start_many<T>(*core, keys, std::move(h), [&](std::size_t valid) {
        return std::make_shared<loads_type>(*core, valid, std::move(loader), std::move(where));
      });
    };
    return this->template initiate<detail::many_values<T>>(std::move(start),
                                                           std::forward<Token>(token));
  }

  /// The same by the loader of the cache, which is called for each key that is missing.
  template <class Token = boost::asio::deferred_t>
  requires(!detail::is_coroutine_many_loader<std::decay_t<Token>>) auto async_get_many_or_load(
      std::vector<std::string> keys, Token&& token = {}) const {
    auto start = [core = core_, keys = std::move(keys)](auto h) mutable {
      detail::start_many<T>(*core, keys, std::move(h), nullptr);
    };
    return this->template initiate<detail::many_values<T>>(std::move(start),
                                                           std::forward<Token>(token));
  }

  // The blocking façade: see cache<T>.

  /// `loader` is called with a load_context&, or with nothing, and returns a T or a
  /// std::optional<T>. It runs on this thread, inside the call, which ends when it has ended:
  /// options.wait bounds the wait for others, for the claim and for a slot. A loader that asks for
  /// its own key gets errc::load_failed at once.
  template <class Loader>
  std::optional<T> get_or_load(std::string_view key, Loader loader) const {
    static_assert(
        detail::blocking_loader_of<Loader, T>,
        "the loader of get_or_load is called with a herdlock::load_context const&, or with "
        "nothing, and returns a T or a std::optional<T>");
    auto kept = core_->find_near(key, detail::caller_wish::load);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::reply_of<detail::load_reply<T>>(std::move(kept)).value();
    }
    return this->template load_here<T, Codec, std::optional<T>, detail::load_reply<T>>(key, loader);
  }

  std::optional<T> get_or_load(std::string_view key) const {
    auto kept = core_->find_near(key, detail::caller_wish::load);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::reply_of<detail::load_reply<T>>(std::move(kept)).value();
    }
    core_->refuse_own_key(key);
    return this->template wait_for<std::optional<T>, detail::load_reply<T>>(
        key, detail::loader_of_cache{});
  }

  /// As async_get_many_or_load; `loader` returns the map itself, and runs as that of get_or_load:
  /// on this thread.
  template <class Loader>
  std::vector<result<std::optional<T>>> get_many_or_load(std::vector<std::string> const& keys,
                                                         Loader loader) const {
    static_assert(detail::blocking_many_loader_of<Loader, T>,
                  "the loader of get_many_or_load is called with a "
                  "std::vector<std::string> const& and returns a map from key to T");
    auto start = [&](auto done, std::shared_ptr<detail::calling_thread> here) {
      detail::start_many<T>(*core_, keys, std::move(done), [&](std::size_t valid) {
        using loads_type = detail::blocking_many<T, Codec, Loader>;
        return std::make_shared<loads_type>(*core_, valid, loader, std::move(here));
      });
    };
    for (auto const& key : keys) core_->refuse_own_key(key);
    auto const keep = core_;  // the loader may destroy this handle
    return detail::wait_for_load<detail::many_values<T>>(keep->context(), start).value();
  }

  std::vector<result<std::optional<T>>> get_many_or_load(
      std::vector<std::string> const& keys) const {
    auto start = [&](auto done) { detail::start_many<T>(*core_, keys, std::move(done), nullptr); };
    for (auto const& key : keys) core_->refuse_own_key(key);
    return detail::wait_for<detail::many_values<T>>(core_->context(), start).value();
  }

 protected:
  using calls = cache_near_calls<T, Codec>;
  using calls::calls;
  using calls::core_;
};

}  // namespace v0
}  // namespace herdlock
