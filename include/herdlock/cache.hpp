// The guarded cache: one load per miss, from one process to a fleet.
//
//     auto store = herdlock::open_store("redis://cache");
//     herdlock::cache<std::string> names(store, {.prefix = "name:"});
//     auto name = names.get_or_load("42", [&] { return database.find_name(42); });
//
// On a miss the cache takes the claim on the key in the store, looking a second time in the same
// step; the caller that gets the claim runs its loader and stores the result, everyone else, in
// this process and in others, waits and gets the value or the loader's error.
//
//  * Hits are plain reads. Callers of one key share a read only while it has not been sent, so no
//    answer is older than the call, but for what a near cache keeps (cache_options::near). A caller
//    who comes while this process loads the key joins.
//  * What a call is given is used only while the call runs. A blocking call runs its loader itself,
//    on its own thread; a call whose loader runs ends when that has ended, whatever its `wait` or
//    its cancellation says: with the value, if one came. Meanwhile the loader goes on for those
//    who wait for it in this process, and is asked to stop when there are none.
//  * A loader that may run behind an answer is given to the cache, by its constructor: it goes on
//    and stores its value whoever waits, and a call that brings none never waits longer than
//    `wait`.
//  * A loader that died with its process holds up the key for claim_ttl at most; one that lives
//    may take longer than that (its claim is renewed), up to max_load_time.
//  * put and invalidate, from any process, void a running load: it cannot overwrite what they did,
//    and is asked to stop. Its value still answers the call that brought it; the others look again.
//  * An error is shared with all who wait, here and elsewhere, and for error_back_off.
//  * A store that fails is not a miss: loads then run without it, one per key and process (and
//    one more behind each fence()), at most max_loads_without_store at once, and nothing is
//    written. After a failure the store is left alone for 250 ms to 1 s, then probed beside the
//    callers' own way, so that a store that hangs costs its timeout only once; after a write that
//    it has acknowledged it is asked again at once. A refusal to one key concerns that key alone,
//    and store::warnings() names what a right is missing for.
//  * A framed entry (cache_options::format) can be loaded anew before or after its ttl ends while
//    it still answers: behind the answer by the cache's own loader; where it has none one call of
//    the fleet waits for its load, and all others get the value that is there.
//  * A value over limits::max_value_bytes, or that does not encode, answers those who wait, and
//    for error_back_off, or until a fence(), those who come to this process after them; it is not
//    stored. An entry that does not decode counts as a miss and is overwritten. A refresh that
//    comes to such a value removes the old entry.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <herdlock/cache_options.hpp>
#include <herdlock/cached.hpp>
#include <herdlock/call_options.hpp>
#include <herdlock/codec.hpp>
#include <herdlock/detail/cache_handle.hpp>
#include <herdlock/detail/cache_many.hpp>
#include <herdlock/detail/cache_owned.hpp>
#include <herdlock/hot_fleet.hpp>
#include <herdlock/hot_keys.hpp>
#include <herdlock/load_context.hpp>
#include <herdlock/open.hpp>

namespace herdlock {
inline namespace v0 {

/// A handle on a cache in a store; cheap to copy; safe from any thread. The copies share their
/// running loads, so make one and keep it. T is copyable and movable; how it is stored is the
/// Codec's business (see codec.hpp).
///
/// When the last copy goes, calls that still wait complete with errc::canceled and claims are
/// given back. A call whose own loader runs completes when that has ended. Blocking loaders of the
/// cache's own that run are waited for, but not inside one of them, nor where the store runs on an
/// executor of yours (then they end by themselves).
template <class T, class Codec = codec<T>>
class cache : public detail::cache_handle {
  static_assert(
      codec_for<Codec, T>,
      "cache<T> needs a codec for T: specialise herdlock::codec<T> (see herdlock/codec.hpp), "
      "include herdlock/codec_described.hpp for a described struct, or name a Codec");

 public:
  /// Values and claims in one store. Throws herdlock::error: errc::invalid_ttl, invalid_value or
  /// invalid_name for options outside their ranges.
  explicit cache(store values, cache_options options = {})
      : cache_handle(make(std::move(values), std::nullopt, std::move(options), nullptr)) {}

  /// The same with a loader of its own. A call's loader is used only while the call runs; this one
  /// may run behind an answer, and for calls that bring none: it has to own what it uses, but not
  /// the cache. Called with a load_context_of<T>&, a load_context& or nothing, it returns a T or a
  /// std::optional<T>; or it loads many keys, as that of get_many_or_load, and has those that are
  /// wanted at one moment, max_loads at most, also of calls for one key. It runs on a thread of the
  /// cache's (at most max_loads + max_loads_without_store of them, each with the signal mask of the
  /// thread that makes it); or it is a coroutine with its executor: herdlock::owned_loader().
  /// Several of its calls may run at once. The last handle waits for the blocking ones that run,
  /// but not inside one of them, nor where the store runs on an executor of yours.
  template <class Loader>
  requires detail::owned_loader_of<Loader, T> cache(store values, cache_options options,
                                                    Loader loader)
      : cache_handle(make(std::move(values), std::nullopt, std::move(options),
                          detail::own<T, Codec>(std::move(loader)))) {}

  /// Values in one store, locks in another (which may be the better lock): get, lock, get again,
  /// load, set, release, on the resource `prefix + key + ":lock"` (which must fit into
  /// limits::max_name_bytes). The value store does not know of the lock:
  /// a loader that was paused past claim_ttl just before it stores can overwrite a newer value
  /// (the lock is checked one round trip before, not in the same step); put and invalidate void
  /// the loads of this process only; errors are shared within a process only.
  cache(store values, store locks, cache_options options = {})
      : cache_handle(make(std::move(values), std::move(locks), std::move(options), nullptr)) {}

  template <class Loader>
  requires detail::owned_loader_of<Loader, T> cache(store values, store locks,
                                                    cache_options options, Loader loader)
      : cache_handle(make(std::move(values), std::move(locks), std::move(options),
                          detail::own<T, Codec>(std::move(loader)))) {}

  // -------------------------------------------------------------------- one key, many keys: loads

  /// `void(failure, std::optional<T>)`: the value, or nothing when there is no such thing. A
  /// cache_key is a text, too.
  ///
  /// `loader` is called with a load_context_of<T>&, a load_context& or nothing, and returns
  /// boost::asio::awaitable<std::optional<T>>; it can decide how long its entry is kept, that it is
  /// not stored, that nothing was modified (herdlock/load_context.hpp). It runs on the handler's
  /// associated executor (a coroutine's own), which must live as long as the load, else on the
  /// store's executor, which it must not block. Nothing becomes a negative entry; an exception a
  /// failed load. Name it (GCC 12: no lambda that owns something inside of a co_await expression).
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
  ///
  /// `how`: the options of this call, of all functions that take them; invalid_value for one that
  /// is out of its range, or that the cache has not what it needs for.
  template <class Loader, class Token = boost::asio::deferred_t>
  requires detail::is_coroutine_loader<Loader, T>
  auto async_get_or_load(std::string_view key, Loader loader, call_options how,
                         Token&& token = {}) const {
    static_assert(
        detail::coroutine_loader_of<Loader, T>,
        "the loader of async_get_or_load is called with a herdlock::load_context_of<T>&, or with "
        "nothing, and returns a boost::asio::awaitable<std::optional<T>>");
    auto start = [core = core_, key = std::string(key), how,
                  loader = std::move(loader)](auto h) mutable {
      using handler_type = decltype(h);
      using call_loader = detail::coroutine_loader<T, Codec, Loader>;
      auto executor = detail::loader_executor(h, core->get_executor());
      detail::start_call<detail::load_reply<T>, handler_type>(
          *core, {key, how}, std::move(h), call_loader{std::move(loader), std::move(executor)});
    };
    return this->template initiate<std::optional<T>>(std::move(start), std::forward<Token>(token));
  }
  template <class Loader, detail::is_token Token = boost::asio::deferred_t>
  requires detail::is_coroutine_loader<Loader, T>
  auto async_get_or_load(std::string_view key, Loader loader, Token&& token = {}) const {
    return async_get_or_load(key, std::move(loader), call_options(), std::forward<Token>(token));
  }

  /// The same by the loader of the cache, which goes on when the call is over: errc::invalid_value
  /// where it has none.
  template <class Token = boost::asio::deferred_t>
  auto async_get_or_load(std::string_view key, call_options how, Token&& token = {}) const {
    auto start = [core = core_, key = std::string(key), how](auto h) mutable {
      using handler_type = decltype(h);
      detail::start_call<detail::load_reply<T>, handler_type>(*core, {key, how}, std::move(h),
                                                              detail::loader_of_cache{});
    };
    return this->template initiate<std::optional<T>>(std::move(start), std::forward<Token>(token));
  }
  template <detail::is_token Token = boost::asio::deferred_t>
  requires(!detail::is_coroutine_loader<std::decay_t<Token>, T>) auto async_get_or_load(
      std::string_view key, Token&& token = {}) const {
    return async_get_or_load(key, call_options(), std::forward<Token>(token));
  }

  /// Loads the key although its entry is fresh: `void(failure, std::optional<T>)` with what that
  /// load comes to, which is stored and takes the entry's place. Meanwhile the entry answers get
  /// and get_or_load.
  ///
  /// The load has begun behind this call: one that runs already, here or in another process, is
  /// waited for and not joined. Calls of one process that wait for their turn share one load. It
  /// has the claim, so of a fleet one load of the key runs at a time; processes that call at once
  /// load one after the other. Its error is the answer, never the old value; so is the error of
  /// another's load that answers still (error_back_off). While the store fails, or claims cannot be
  /// had, it loads without it, and nothing is stored. errc::not_supported where the locks are in
  /// another store. Loader, other errors and cancellation as for async_get_or_load.
  template <class Loader, class Token = boost::asio::deferred_t>
  requires detail::is_coroutine_loader<Loader, T>
  auto async_load_now(std::string_view key, Loader loader, call_options how,
                      Token&& token = {}) const {
    static_assert(
        detail::coroutine_loader_of<Loader, T>,
        "the loader of async_load_now is called with a herdlock::load_context_of<T>&, or with "
        "nothing, and returns a boost::asio::awaitable<std::optional<T>>");
    auto start = [core = core_, key = std::string(key), how,
                  loader = std::move(loader)](auto h) mutable {
      using handler_type = decltype(h);
      using call_loader = detail::coroutine_loader<T, Codec, Loader, detail::caller_wish::load_now>;
      auto executor = detail::loader_executor(h, core->get_executor());
      detail::start_call<detail::load_reply<T>, handler_type>(
          *core, {key, how}, std::move(h), call_loader{std::move(loader), std::move(executor)});
    };
    return this->template initiate<std::optional<T>>(std::move(start), std::forward<Token>(token));
  }
  template <class Loader, detail::is_token Token = boost::asio::deferred_t>
  requires detail::is_coroutine_loader<Loader, T>
  auto async_load_now(std::string_view key, Loader loader, Token&& token = {}) const {
    return async_load_now(key, std::move(loader), call_options(), std::forward<Token>(token));
  }

  template <class Token = boost::asio::deferred_t>
  auto async_load_now(std::string_view key, call_options how, Token&& token = {}) const {
    auto start = [core = core_, key = std::string(key), how](auto h) mutable {
      using handler_type = decltype(h);
      detail::start_call<detail::load_reply<T>, handler_type>(
          *core, {key, how}, std::move(h), detail::given_by_cache<detail::caller_wish::load_now>{});
    };
    return this->template initiate<std::optional<T>>(std::move(start), std::forward<Token>(token));
  }
  template <detail::is_token Token = boost::asio::deferred_t>
  requires(!detail::is_coroutine_loader<std::decay_t<Token>, T>) auto async_load_now(
      std::string_view key, Token&& token = {}) const {
    return async_load_now(key, call_options(), std::forward<Token>(token));
  }

  /// The values of many keys: `void(std::vector<result<std::optional<T>>>)`, each key's own in the
  /// order of the keys, with the errors of async_get_or_load. There is no other error: one of the
  /// whole call (the cache closes, the call is cancelled) is that of each key without a value.
  ///
  /// The keys are read together. `loader` is called once with those that this process is to load
  /// (`std::vector<std::string> const&`, without the prefix; and with a std::stop_token, if it
  /// takes one, which is triggered when none of them has a use for it any more), and returns
  /// boost::asio::awaitable<Values>, where Values is a map from key to T, std::optional<T> or a
  /// result of one of these; a key that is not in it has no value. In place of the keys it may take
  /// the contexts of their loads, `std::vector<load_context_of<T>>&`, in which it decides for each
  /// key. The loads of others are waited
  /// for meanwhile, and nothing is claimed while the loader runs, so that calls whose keys overlap
  /// never wait for each other in a circle. Should another fail to load a key, or more keys be
  /// missing than max_loads allows at once, the loader is called again with what is left. Executor,
  /// exceptions and cancellation as for async_get_or_load.
  template <class Loader, class Token = boost::asio::deferred_t>
  requires detail::is_coroutine_many_loader<Loader, T>
  auto async_get_many_or_load(std::vector<std::string> keys, Loader loader, call_options how,
                              Token&& token = {}) const {
    static_assert(
        detail::coroutine_many_loader_of<Loader, T>,
        "the loader of async_get_many_or_load is called with a "
        "std::vector<std::string> const& and returns a boost::asio::awaitable of a map from "
        "key to T");
    auto start = [core = core_, keys = std::move(keys), how,
                  loader = std::move(loader)](auto h) mutable {
      using loads_type = detail::coroutine_many<T, Codec, Loader>;
      auto where = detail::loader_executor(h, core->get_executor());
      auto asked = detail::keys_of_call(*core, keys, detail::loader_from::call, how);
      detail::start_many<T>(*core, std::move(asked), std::move(h), [&](std::size_t valid) {
        return std::make_shared<loads_type>(*core, valid, std::move(loader), std::move(where));
      });
    };
    return this->template initiate_as<void(detail::many_values<T>)>(std::move(start),
                                                                    std::forward<Token>(token));
  }
  template <class Loader, detail::is_token Token = boost::asio::deferred_t>
  requires detail::is_coroutine_many_loader<Loader, T>
  auto async_get_many_or_load(std::vector<std::string> keys, Loader loader,
                              Token&& token = {}) const {
    return async_get_many_or_load(std::move(keys), std::move(loader), call_options(),
                                  std::forward<Token>(token));
  }

  /// The same by the loader of the cache, which is called for each key that is missing.
  template <class Token = boost::asio::deferred_t>
  auto async_get_many_or_load(std::vector<std::string> keys, call_options how,
                              Token&& token = {}) const {
    auto start = [core = core_, keys = std::move(keys), how](auto h) mutable {
      auto asked = detail::keys_of_call(*core, keys, detail::loader_from::cache, how);
      detail::start_many<T>(*core, std::move(asked), std::move(h), nullptr);
    };
    return this->template initiate_as<void(detail::many_values<T>)>(std::move(start),
                                                                    std::forward<Token>(token));
  }
  template <detail::is_token Token = boost::asio::deferred_t>
  requires(!detail::is_coroutine_many_loader<std::decay_t<Token>, T>) auto async_get_many_or_load(
      std::vector<std::string> keys, Token&& token = {}) const {
    return async_get_many_or_load(std::move(keys), call_options(), std::forward<Token>(token));
  }

  /// `loader` is called with a load_context_of<T>&, a load_context& or nothing, and returns a T or
  /// a std::optional<T>. It runs on this thread, inside the call, which ends when it has ended:
  /// options.wait bounds the wait for others, for the claim and for a slot. A loader that asks for
  /// its own key gets errc::load_failed at once.
  template <class Loader>
  std::optional<T> get_or_load(std::string_view key, Loader loader, call_options how = {}) const {
    static_assert(
        detail::blocking_loader_of<Loader, T>,
        "the loader of get_or_load is called with a herdlock::load_context_of<T>&, or with "
        "nothing, and returns a T or a std::optional<T>");
    auto kept = detail::find_near(*core_, {key, how}, detail::caller_wish::load);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::reply_of<detail::load_reply<T>>(std::move(kept)).value();
    }
    return this->template load_here<T, Codec, std::optional<T>, detail::load_reply<T>>({key, how},
                                                                                       loader);
  }

  std::optional<T> get_or_load(std::string_view key, call_options how = {}) const {
    auto kept = detail::find_near(*core_, {key, how}, detail::caller_wish::load);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::reply_of<detail::load_reply<T>>(std::move(kept)).value();
    }
    this->refuse_own_key(key);
    return this->template wait_for<std::optional<T>, detail::load_reply<T>>(
        {key, how}, detail::loader_of_cache{});
  }

  /// As async_load_now; `loader` runs as that of get_or_load: on this thread.
  template <class Loader>
  std::optional<T> load_now(std::string_view key, Loader loader, call_options how = {}) const {
    static_assert(
        detail::blocking_loader_of<Loader, T>,
        "the loader of load_now is called with a herdlock::load_context_of<T>&, or with nothing, "
        "and returns a T or a std::optional<T>");
    return this->template load_here<T, Codec, std::optional<T>, detail::load_reply<T>,
                                    detail::caller_wish::load_now>({key, how}, loader);
  }

  std::optional<T> load_now(std::string_view key, call_options how = {}) const {
    this->refuse_own_key(key);
    return this->template wait_for<std::optional<T>, detail::load_reply<T>>(
        {key, how}, detail::given_by_cache<detail::caller_wish::load_now>{});
  }

  /// As async_get_many_or_load; `loader` returns the map itself, and runs as that of get_or_load:
  /// on this thread. It throws no herdlock::error: all errors are those of keys.
  template <class Loader>
  std::vector<result<std::optional<T>>> get_many_or_load(std::vector<std::string> const& keys,
                                                         Loader loader,
                                                         call_options how = {}) const {
    static_assert(detail::blocking_many_loader_of<Loader, T>,
                  "the loader of get_many_or_load is called with a "
                  "std::vector<std::string> const& and returns a map from key to T");
    auto asked = detail::keys_of_blocking_call(*core_, keys, detail::loader_from::call, how);
    auto start = [&](auto done, std::shared_ptr<detail::calling_thread> here) {
      detail::start_many<T>(*core_, std::move(asked), std::move(done), [&](std::size_t valid) {
        using loads_type = detail::blocking_many<T, Codec, Loader>;
        return std::make_shared<loads_type>(*core_, valid, loader, std::move(here));
      });
    };
    auto const keep = core_;  // the loader may destroy this handle
    auto const count = keys.size();
    return detail::for_each_key<T>(
        count, detail::wait_for_load<detail::many_values<T>>(keep->context(), start));
  }

  std::vector<result<std::optional<T>>> get_many_or_load(std::vector<std::string> const& keys,
                                                         call_options how = {}) const {
    auto asked = detail::keys_of_blocking_call(*core_, keys, detail::loader_from::cache, how);
    auto start = [&](auto done) {
      detail::start_many<T>(*core_, std::move(asked), std::move(done), nullptr);
    };
    return detail::for_each_key<T>(
        keys.size(), detail::wait_for<detail::many_values<T>>(core_->context(), start));
  }

  // --------------------------------------------------------------------- one key, as it is stored

  /// `void(failure, cached<T>)`: what is in the store now, or near; a stale entry is a miss. No
  /// load is begun or joined. Store trouble is an error here, at once while the store is known to
  /// fail. errc::invalid_value for a T that throws when it is copied.
  template <class Token = boost::asio::deferred_t>
  auto async_get(std::string_view key, call_options how, Token&& token = {}) const {
    auto start = [core = core_, key = std::string(key), how](auto h) mutable {
      using handler_type = decltype(h);
      detail::start_call<detail::look_reply<T>, handler_type>(*core, {key, how}, std::move(h),
                                                              detail::only_looks{});
    };
    return this->template initiate<cached<T>>(std::move(start), std::forward<Token>(token));
  }
  template <detail::is_token Token = boost::asio::deferred_t>
  auto async_get(std::string_view key, Token&& token = {}) const {
    return async_get(key, call_options(), std::forward<Token>(token));
  }

  /// `void(failure, std::optional<looked<T>>)`: the entry that is in the store now, fresh or stale,
  /// and its times; nothing where there is none, or an invalidated tag has ended it. It asks the
  /// store, also for what this process keeps. No load is begun or joined. Errors as for async_get.
  template <class Token = boost::asio::deferred_t>
  auto async_look(std::string_view key, Token&& token = {}) const {
    auto start = [core = core_, key = std::string(key)](auto h) mutable {
      using handler_type = decltype(h);
      detail::start_call<detail::examined_reply<T>, handler_type>(*core, key, std::move(h),
                                                                  detail::only_examines{});
    };
    return this->template initiate<std::optional<looked<T>>>(std::move(start),
                                                             std::forward<Token>(token));
  }

  /// Stores the value and voids running loads of the key: `void(failure)`; errc::moving where a
  /// Redis Cluster moves the key's slot for longer than the store's timeout; errc::invalid_value
  /// for a value that does not encode or is too large; errc::overloaded beyond the bounds of
  /// lasting entries. Not cancellable: it ends by the store's timeout, and after an error of the
  /// store the outcome is unknown.
  template <class Token = boost::asio::deferred_t>
  auto async_put(std::string_view key, T value, Token&& token = {}) const {
    auto encoded = detail::encode_entry<T, Codec>(value);
    return detail::initiate<void>(
        get_executor(),
        [core = core_, key = std::string(key), encoded = std::move(encoded)](handler<void> h) {
          core->put(key, encoded, std::move(h));
        },
        std::forward<Token>(token));
  }

  /// Removes the entry (also a negative one, or a shared error) and voids running loads of the
  /// key: `void(failure, bool)`, true when there was an entry. Cancellation as for async_put.
  template <class Token = boost::asio::deferred_t>
  auto async_invalidate(std::string_view key, Token&& token = {}) const {
    return detail::initiate<bool>(
        get_executor(),
        [core = core_, key = std::string(key)](handler<bool> h) {
          core->invalidate(key, std::move(h));
        },
        std::forward<Token>(token));
  }

  /// Makes the entry stale and voids running loads of the key, so that the next caller loads it
  /// anew: `void(failure, bool)`, true when there was an entry. For freshness_options::grace the
  /// old value is what a stale entry is; with a grace of 0 it is removed. errc::not_supported for
  /// plain entries. Cancellation as for async_put.
  template <class Token = boost::asio::deferred_t>
  auto async_expire(std::string_view key, Token&& token = {}) const {
    return detail::initiate<bool>(
        get_executor(),
        [core = core_, key = std::string(key)](handler<bool> h) {
          core->expire(key, std::move(h));
        },
        std::forward<Token>(token));
  }

  // The blocking façade: the same, throwing herdlock::error. Not on the store's own thread; where
  // nobody runs the store's executor, errc::timed_out after five seconds.

  cached<T> get(std::string_view key, call_options how = {}) const {
    auto kept = detail::find_near(*core_, {key, how}, detail::caller_wish::look);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::reply_of<detail::look_reply<T>>(std::move(kept)).value();
    }
    return this->template wait_for<cached<T>, detail::look_reply<T>>({key, how},
                                                                     detail::only_looks{});
  }

  std::optional<looked<T>> look(std::string_view key) const {
    return this->template wait_for<std::optional<looked<T>>, detail::examined_reply<T>>(
        key, detail::only_examines{});
  }

  void put(std::string_view key, T value) const {
    auto start = [&](handler<void> h) {
      core_->put(key, detail::encode_entry<T, Codec>(value), std::move(h));
    };
    detail::wait_for<void>(core_->context(), start).value();
  }

  bool invalidate(std::string_view key) const {
    auto start = [&](handler<bool> h) { core_->invalidate(key, std::move(h)); };
    return detail::wait_for<bool>(core_->context(), start).value();
  }

  bool expire(std::string_view key) const {
    auto start = [&](handler<bool> h) { core_->expire(key, std::move(h)); };
    return detail::wait_for<bool>(core_->context(), start).value();
  }

  // ---------------------------------------------------------------------------------- kept values

  // These are there for what a process keeps (cache_options::near). Without a near cache they work
  // as their names say, and ask the store.

  /// async_get_or_load() without a copy: `void(failure, std::shared_ptr<T const>)`, null for "no
  /// such thing". Others may have the same object.
  template <class Loader, class Token = boost::asio::deferred_t>
  requires detail::is_coroutine_loader<Loader, T>
  auto async_get_or_load_shared(std::string_view key, Loader loader, call_options how,
                                Token&& token = {}) const {
    static_assert(detail::coroutine_loader_of<Loader, T>,
                  "the loader of async_get_or_load_shared is called with a "
                  "herdlock::load_context_of<T>&, or with "
                  "nothing, and returns a boost::asio::awaitable<std::optional<T>>");
    auto start = [core = core_, key = std::string(key), how,
                  loader = std::move(loader)](auto h) mutable {
      using handler_type = decltype(h);
      using call_loader = detail::coroutine_loader<T, Codec, Loader>;
      auto executor = detail::loader_executor(h, core->get_executor());
      detail::start_call<detail::shared_load_reply<T>, handler_type>(
          *core, {key, how}, std::move(h), call_loader{std::move(loader), std::move(executor)});
    };
    return this->template initiate<std::shared_ptr<T const>>(std::move(start),
                                                             std::forward<Token>(token));
  }
  template <class Loader, detail::is_token Token = boost::asio::deferred_t>
  requires detail::is_coroutine_loader<Loader, T>
  auto async_get_or_load_shared(std::string_view key, Loader loader, Token&& token = {}) const {
    return async_get_or_load_shared(key, std::move(loader), call_options(),
                                    std::forward<Token>(token));
  }

  template <class Token = boost::asio::deferred_t>
  auto async_get_or_load_shared(std::string_view key, call_options how, Token&& token = {}) const {
    auto start = [core = core_, key = std::string(key), how](auto h) mutable {
      using handler_type = decltype(h);
      detail::start_call<detail::shared_load_reply<T>, handler_type>(
          *core, {key, how}, std::move(h), detail::loader_of_cache{});
    };
    return this->template initiate<std::shared_ptr<T const>>(std::move(start),
                                                             std::forward<Token>(token));
  }
  template <detail::is_token Token = boost::asio::deferred_t>
  requires(!detail::is_coroutine_loader<std::decay_t<Token>, T>) auto async_get_or_load_shared(
      std::string_view key, Token&& token = {}) const {
    return async_get_or_load_shared(key, call_options(), std::forward<Token>(token));
  }

  /// `void(failure)`: once it has completed, no call that begins on this cache answers with what
  /// this process had from before a write which was acknowledged to anybody before this call: not
  /// with a value that it kept, nor, if a herdlock cache wrote, with a load that ran already. That
  /// one goes on for those who wait for it. (With the locks in another store, or where another
  /// program has written, its value may still come to the store behind the write.) A round trip to
  /// each server, two while another fence is under way; max_staleness for each of them at most.
  /// Tags are asked for anew, too. Without a near cache it is done at once. Calls behind a fence
  /// share no load with those before it. errc::overloaded beyond load_bounds::max_waiting. Not
  /// cancellable.
  template <class Token = boost::asio::deferred_t>
  auto async_fence(Token&& token = {}) const {
    return detail::initiate<void>(
        get_executor(), [core = core_](handler<void> h) { core->fence(std::move(h)); },
        std::forward<Token>(token));
  }

  /// `void(failure)`: once it has completed, no call that begins on this cache answers with what
  /// this process kept, had read or had begun to load before this call. For what a server tells
  /// nobody, as SWAPDB: behind it, and in each process. No round trip. Not cancellable.
  template <class Token = boost::asio::deferred_t>
  auto async_drop_kept(Token&& token = {}) const {
    return detail::initiate<void>(
        get_executor(), [core = core_](handler<void> h) { core->drop_kept(std::move(h)); },
        std::forward<Token>(token));
  }

  /// With near_cache::hot: the value of the key is kept in this process from its next read on. At
  /// most near_options::entries keys; beyond that it throws herdlock::error with errc::overloaded,
  /// and with errc::invalid_name for what is no key. Not while a rule denies the key
  /// (herdlock/hot_rules.hpp), nor a value larger than near_options::max_value_bytes. Nothing
  /// without a near cache.
  void pin(std::string_view key) const {
    if (failure why = core_->pin(key); why.code) throw error(std::move(why));
  }
  void unpin(std::string_view key) const { core_->unpin(key); }

  /// The `most` keys that calls on this cache read most in the window of hot_options::keys,
  /// the first one most: without the prefix, cut at hot_keys::kept_bytes. As of the last tick, of
  /// which there are some twenty a second while calls come; of hits that the process answers itself
  /// each thread may owe up to fifteen for each key. At most 1024 keys are known. None when no key
  /// is counted. Any thread. Throws std::bad_alloc.
  std::vector<hot_key> most_read(std::size_t most) const { return core_->most_read(most); }
  /// Any thread.
  hot_keys_stats hot_stats() const { return core_->hot_stats(); }
  /// The same of all processes that share the store and have a cache of this prefix, as far as they
  /// have reported to each other (hot_options::fleet_threshold); of keys up to 255 bytes. None
  /// before this process has read a key at a hundredth of that threshold. Any thread. Throws
  /// std::bad_alloc.
  std::vector<fleet_hot_key> most_read_by_fleet(std::size_t most) const {
    return core_->most_read_by_fleet(most);
  }
  /// Any thread.
  hot_fleet_stats fleet_stats() const { return core_->fleet_stats(); }

  /// get_or_load() without a copy: null for "no such thing". Others may have the same object. A
  /// value that the process keeps is answered without I/O; one that this thread asks for often
  /// without a lock or an allocation, too.
  template <class Loader>
  std::shared_ptr<T const> get_or_load_shared(std::string_view key, Loader&& loader,
                                              call_options how = {}) const {
    static_assert(
        detail::blocking_loader_of<std::decay_t<Loader>, T>,
        "the loader of get_or_load_shared is called with a herdlock::load_context_of<T>&, or with "
        "nothing, and returns a T or a std::optional<T>");
    auto kept = detail::find_near(*core_, {key, how}, detail::caller_wish::load);
    if (kept.kind != detail::entry_kind::miss) {
      return std::static_pointer_cast<T const>(std::move(kept.object));
    }
    return this
        ->template load_here<T, Codec, std::shared_ptr<T const>, detail::shared_load_reply<T>>(
            {key, how}, loader);
  }
  std::shared_ptr<T const> get_or_load_shared(std::string_view key, call_options how = {}) const {
    auto kept = detail::find_near(*core_, {key, how}, detail::caller_wish::load);
    if (kept.kind != detail::entry_kind::miss) {
      return std::static_pointer_cast<T const>(std::move(kept.object));
    }
    this->refuse_own_key(key);
    return this->template wait_for<std::shared_ptr<T const>, detail::shared_load_reply<T>>(
        {key, how}, detail::loader_of_cache{});
  }

  /// get() without a copy.
  cached<std::shared_ptr<T const>> get_shared(std::string_view key, call_options how = {}) const {
    auto kept = detail::find_near(*core_, {key, how}, detail::caller_wish::look);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::reply_of<detail::shared_look_reply<T>>(std::move(kept)).value();
    }
    return this->template wait_for<cached<std::shared_ptr<T const>>, detail::shared_look_reply<T>>(
        {key, how}, detail::only_looks{});
  }

  void fence() const {
    auto start = [&](handler<void> h) { core_->fence(std::move(h)); };
    detail::wait_for<void>(core_->context(), start).value();
  }
  void drop_kept() const {
    auto start = [&](handler<void> h) { core_->drop_kept(std::move(h)); };
    detail::wait_for<void>(core_->context(), start).value();
  }

  // ----------------------------------------------------------------------------------------- tags

  // A tag is a name, as a key is; with the prefix of the cache and 13 bytes more it fits into
  // limits::max_name_bytes. Each call is one command, however many entries have the tag:
  // `void(failure)`, with errc::invalid_name for what is no tag, and errc::not_supported for plain
  // entries. Change the database first, and end the tag then. Loads that run with the tag in this
  // process are void; one that runs in another stores what is ended already. Other processes may
  // answer with what has been ended for tag_options::max_age more, or until they call fence().
  // Cancellation as for cache::async_put.

  /// No entry with the tag that was loaded or put before is an answer any more.
  template <class Token = boost::asio::deferred_t>
  auto async_invalidate_tag(std::string_view tag, Token&& token = {}) const {
    return end(tag, detail::tag_ending::invalidate, std::forward<Token>(token));
  }

  /// The tag's entries are stale, as async_expire makes one: with a grace they answer while they
  /// are loaded anew, until they end by themselves. Without one they are gone.
  template <class Token = boost::asio::deferred_t>
  auto async_expire_tag(std::string_view tag, Token&& token = {}) const {
    return end(tag, detail::tag_ending::expire, std::forward<Token>(token));
  }

  /// No entry of this cache that was loaded or put before, by any process, is an answer any more:
  /// one command, and no scan. `void(failure)`, with errc::not_supported where
  /// tag_options::clearable is not set, which needs framed entries. What is said of tags holds for
  /// it: loads that run in this process are void, and other processes may answer with what has been
  /// ended for tag_options::max_age more, or until they call fence(). The entries stay in the store
  /// until they end or are loaded anew. Entries of another cache with a longer prefix stay as well.
  /// Cancellation as for async_put.
  template <class Token = boost::asio::deferred_t>
  auto async_clear(Token&& token = {}) const {
    return detail::initiate<void>(
        get_executor(), [core = core_](handler<void> h) { core->clear(std::move(h)); },
        std::forward<Token>(token));
  }

  void clear() const {
    auto start = [&](handler<void> h) { core_->clear(std::move(h)); };
    detail::wait_for<void>(core_->context(), start).value();
  }
  void invalidate_tag(std::string_view tag) const { end(tag, detail::tag_ending::invalidate); }
  void expire_tag(std::string_view tag) const { end(tag, detail::tag_ending::expire); }

  // -------------------------------------------------------------------------------------- figures

  /// Any thread; the counts are not taken at one instant.
  cache_stats stats() const { return core_->stats(); }
  /// The latest failure of the store that get_or_load bore in silence; success if there was none.
  failure last_store_error() const { return core_->last_store_error(); }

 private:
  template <class Token>
  auto end(std::string_view tag, detail::tag_ending how, Token&& token) const {
    return detail::initiate<void>(
        get_executor(),
        [core = core_, tag = std::string(tag), how](handler<void> h) {
          core->end_tag(tag, how, std::move(h));
        },
        std::forward<Token>(token));
  }

  void end(std::string_view tag, detail::tag_ending how) const {
    auto start = [&](handler<void> h) { core_->end_tag(tag, how, std::move(h)); };
    detail::wait_for<void>(core_->context(), start).value();
  }

  static std::shared_ptr<detail::cache_core> make(store values, std::optional<store> locks,
                                                  cache_options options,
                                                  std::shared_ptr<detail::owned_load> owned) {
    return std::make_shared<detail::cache_core>(std::move(values), std::move(locks),
                                                std::move(options), Codec::form,
                                                &detail::decode_entry<T, Codec>, std::move(owned));
  }
};

}  // namespace v0
}  // namespace herdlock
