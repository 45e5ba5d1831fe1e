// The guarded cache: one load per miss, from one process to a fleet.
//
//     herdlock::cache<std::string> products(herdlock::open_store("redis://cache"));
//     auto name = products.get_or_load("product:1", [&] { return database.find_name(1); });
//
// What happens on a miss: the cache takes the claim on the key in the store, looking a second time
// in the same step; whoever gets the claim runs its loader and stores the result, everyone else,
// in this process and in others, waits and gets the value or the loader's error.
//
//  * Hits are plain reads. Callers of one key share a read only while it has not been sent, so no
//    answer is older than the call, but for what a near cache keeps (cache_options::near). A caller
//    who comes while this process loads the key joins.
//  * A loader belongs to everyone who waits for it: it goes on when its first caller cancels or
//    times out, and stores its value even when nobody is left.
//  * A loader that died with its process holds up the key for claim_ttl at most; one that lives
//    may take longer than that (its claim is renewed), up to max_load_time.
//  * put and invalidate, from any process, void a running load: it cannot overwrite what they did.
//    Its value still answers those who were already waiting for it.
//  * An error is shared with all who wait, here and elsewhere, and for error_back_off.
//  * A store that fails is not a miss: loads then run without it, one per key and process (and
//    one more behind each fence()), at most max_loads_without_store at once, and nothing is
//    written. After a failure the store is left alone for 250 ms to 1 s, then probed beside the
//    callers' own way, so that a store that hangs costs its timeout only once.
//  * A framed entry (cache_options::format) can be loaded anew before or after its ttl ends while
//    it still answers: the loader then runs behind the answer of the caller who brought it. It has
//    to own what it uses.
//  * A value over limits::max_value_bytes, or that does not encode, answers those who wait, and
//    for error_back_off, or until a fence(), those who come to this process after them; it is not
//    stored. An entry that does not decode counts as a miss and is overwritten. A refresh that
//    comes to such a value removes the old entry.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/cache_near_calls.hpp>
#include <herdlock/cache_options.hpp>
#include <herdlock/cached.hpp>
#include <herdlock/codec.hpp>
#include <herdlock/detail/cache_many.hpp>
#include <herdlock/open.hpp>

namespace herdlock {
inline namespace v0 {

/// A handle on a cache in a store; cheap to copy; safe from any thread. The copies share their
/// running loads, so make one and keep it. T is copyable and movable; how it is stored is the
/// Codec's business (see codec.hpp).
///
/// When the last copy goes, calls that still wait complete with errc::canceled and claims are
/// given back; blocking loaders that run are waited for, unless the store runs on an executor of
/// yours (then they end by themselves).
template <class T, class Codec = codec<T>>
class cache : public cache_near_calls<T, Codec> {
  static_assert(
      codec_for<Codec, T>,
      "cache<T> needs a codec for T: specialise herdlock::codec<T> (see herdlock/codec.hpp), "
      "include herdlock/codec_described.hpp for a described struct, or name a Codec");

 public:
  using cache_near_calls<T, Codec>::get_executor;

  /// Values and claims in one store. Throws herdlock::error: errc::invalid_ttl, invalid_value or
  /// invalid_name for options outside their ranges.
  explicit cache(store values, cache_options options = {})
      : calls(std::make_shared<detail::cache_core>(std::move(values), std::nullopt,
                                                   std::move(options), Codec::form,
                                                   &detail::decode_entry<T, Codec>)) {}

  /// Values in one store, locks in another (which may be the better lock): get, lock, get again,
  /// load, set, release, on the resource `prefix + key + ":lock"` (which must fit into
  /// limits::max_name_bytes). The value store does not know of the lock:
  /// a loader that was paused past claim_ttl just before it stores can overwrite a newer value
  /// (the lock is checked one round trip before, not in the same step); put and invalidate void
  /// the loads of this process only; errors are shared within a process only.
  cache(store values, store locks, cache_options options = {})
      : calls(std::make_shared<detail::cache_core>(std::move(values), std::move(locks),
                                                   std::move(options), Codec::form,
                                                   &detail::decode_entry<T, Codec>)) {}

  /// `void(failure, std::optional<T>)`: the value, or nothing when there is no such thing. A
  /// cache_key is a text, too.
  ///
  /// `loader` is called with a load_context, or with nothing, and returns
  /// boost::asio::awaitable<std::optional<T>>; it runs on the handler's associated executor (a
  /// coroutine's own), which must live as long as the load, else on the store's executor, which it
  /// must not block. Nothing becomes a negative entry; an exception a failed load. Name it (GCC 12:
  /// no lambda that owns something inside of a co_await expression).
  ///
  /// Errors: errc::load_failed with the text of the loader's exception; timed_out after
  /// options.wait; overloaded; invalid_name (the key is no name, or too long with the prefix);
  /// wrong_type (the key holds something of another kind); canceled. Cancellation: all types; the
  /// load goes on.
  template <class Loader, class Token = boost::asio::deferred_t>
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
          *core, core->full_key(key), std::move(h),
          call_loader{std::move(loader), std::move(executor)});
    };
    return this->template initiate<std::optional<T>>(std::move(start), std::forward<Token>(token));
  }

  /// The values of many keys: `void(failure, std::vector<result<std::optional<T>>>)`, each key's
  /// own in the order of the keys, with the errors of async_get_or_load; the failure is never set.
  ///
  /// The keys are read together. `loader` is called once with those that this process is to load
  /// (`std::vector<std::string> const&`, without the prefix), and returns
  /// boost::asio::awaitable<Values>, where Values is a map from key to T, std::optional<T> or a
  /// result of one of these; a key that is not in it has no value. What others are at is waited for
  /// meanwhile, so that calls whose keys overlap never wait for each other in a circle. Should
  /// another fail to load a key, or more keys be missing than max_loads allows at once, the loader
  /// is called again with what is left. Executor, exceptions and cancellation as for
  /// async_get_or_load.
  template <class Loader, class Token = boost::asio::deferred_t>
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

  /// `void(failure, cached<T>)`: what is in the store now, or near; a stale entry is a miss. No
  /// load is begun or joined. Store trouble is an error here, at once while the store is known to
  /// fail.
  template <class Token = boost::asio::deferred_t>
  auto async_get(std::string_view key, Token&& token = {}) const {
    auto start = [core = core_, key = std::string(key)](auto h) mutable {
      using handler_type = decltype(h);
      detail::start_call<detail::look_reply<T>, handler_type>(*core, core->full_key(key),
                                                              std::move(h), detail::no_loader{});
    };
    return this->template initiate<cached<T>>(std::move(start), std::forward<Token>(token));
  }

  /// Stores the value and voids running loads of the key: `void(failure)`; errc::invalid_value for
  /// a value that does not encode or is too large; errc::overloaded beyond the bounds of lasting
  /// entries. Not cancellable: it ends by the store's timeout, and after an error of the store the
  /// outcome is unknown.
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
  /// anew: `void(failure, bool)`, true when there was an entry. For options.grace the old value is
  /// what a stale entry is; with a grace of 0 it is removed. errc::not_supported for plain entries.
  /// Cancellation as for async_put.
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

  /// `loader` is called with a load_context const&, or with nothing, and returns a T or a
  /// std::optional<T>. It runs on a thread of the cache's own (at most max_loads +
  /// max_loads_without_store of them).
  template <class Loader>
  std::optional<T> get_or_load(std::string_view key, Loader loader) const {
    static_assert(
        detail::blocking_loader_of<Loader, T>,
        "the loader of get_or_load is called with a herdlock::load_context const&, or with "
        "nothing, and returns a T or a std::optional<T>");
    auto kept = core_->find_near(key, detail::caller_wish::load);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::value_of<T>(std::move(kept)).value();
    }
    using call_loader = detail::blocking_loader<T, Codec, Loader>;
    return this->template wait_for<std::optional<T>, detail::load_reply<T>>(
        key, call_loader{std::move(loader), core_->pool()});
  }

  /// As async_get_many_or_load; `loader` returns the map itself, and runs as that of get_or_load.
  template <class Loader>
  std::vector<result<std::optional<T>>> get_many_or_load(std::vector<std::string> const& keys,
                                                         Loader loader) const {
    static_assert(detail::blocking_many_loader_of<Loader, T>,
                  "the loader of get_many_or_load is called with a "
                  "std::vector<std::string> const& and returns a map from key to T");
    auto start = [&](auto done) {
      detail::start_many<T>(*core_, keys, std::move(done), [&](std::size_t valid) {
        using loads_type = detail::blocking_many<T, Codec, Loader>;
        return std::make_shared<loads_type>(*core_, valid, std::move(loader));
      });
    };
    return detail::wait_for<detail::many_values<T>>(core_->context(), start).value();
  }

  cached<T> get(std::string_view key) const {
    auto kept = core_->find_near(key, detail::caller_wish::look);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::look_reply<T>::from(std::move(kept)).value();
    }
    return this->template wait_for<cached<T>, detail::look_reply<T>>(key, detail::no_loader{});
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

  /// Any thread; the counts are not taken at one instant.
  cache_stats stats() const { return core_->stats(); }
  /// The latest failure of the store that get_or_load bore in silence; success if there was none.
  failure last_store_error() const { return core_->last_store_error(); }

 private:
  using calls = cache_near_calls<T, Codec>;
  using calls::core_;
};

}  // namespace v0
}  // namespace herdlock
