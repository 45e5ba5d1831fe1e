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
#include <utility>

#include <herdlock/cache_load_calls.hpp>
#include <herdlock/cache_options.hpp>
#include <herdlock/cached.hpp>
#include <herdlock/codec.hpp>
#include <herdlock/detail/cache_owned.hpp>
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
class cache : public cache_load_calls<T, Codec> {
  static_assert(
      codec_for<Codec, T>,
      "cache<T> needs a codec for T: specialise herdlock::codec<T> (see herdlock/codec.hpp), "
      "include herdlock/codec_described.hpp for a described struct, or name a Codec");

 public:
  using cache_load_calls<T, Codec>::get_executor;

  /// Values and claims in one store. Throws herdlock::error: errc::invalid_ttl, invalid_value or
  /// invalid_name for options outside their ranges.
  explicit cache(store values, cache_options options = {})
      : calls(make(std::move(values), std::nullopt, std::move(options), nullptr)) {}

  /// The same with a loader of its own. A call's loader is used only while the call runs; this one
  /// may run behind an answer, and for calls that bring none: it has to own what it uses, but not
  /// the cache. Called with a load_context& (or with nothing), it returns a T or a
  /// std::optional<T>; or it loads many keys, as that of get_many_or_load, and has those that are
  /// wanted at one moment, max_loads at most, also of calls for one key. It runs on a thread of the
  /// cache's (at most max_loads + max_loads_without_store of them, each with the signal mask of the
  /// thread that makes it); or it is a coroutine with its executor: herdlock::owned_loader().
  /// Several of its calls may run at once. The last handle waits for the blocking ones that run,
  /// but not inside one of them, nor where the store runs on an executor of yours.
  template <class Loader>
  requires detail::owned_loader_of<Loader, T> cache(store values, cache_options options,
                                                    Loader loader)
      : calls(make(std::move(values), std::nullopt, std::move(options),
                   detail::own<T, Codec>(std::move(loader)))) {}

  /// Values in one store, locks in another (which may be the better lock): get, lock, get again,
  /// load, set, release, on the resource `prefix + key + ":lock"` (which must fit into
  /// limits::max_name_bytes). The value store does not know of the lock:
  /// a loader that was paused past claim_ttl just before it stores can overwrite a newer value
  /// (the lock is checked one round trip before, not in the same step); put and invalidate void
  /// the loads of this process only; errors are shared within a process only.
  cache(store values, store locks, cache_options options = {})
      : calls(make(std::move(values), std::move(locks), std::move(options), nullptr)) {}

  template <class Loader>
  requires detail::owned_loader_of<Loader, T> cache(store values, store locks,
                                                    cache_options options, Loader loader)
      : calls(make(std::move(values), std::move(locks), std::move(options),
                   detail::own<T, Codec>(std::move(loader)))) {}

  /// `void(failure, cached<T>)`: what is in the store now, or near; a stale entry is a miss. No
  /// load is begun or joined. Store trouble is an error here, at once while the store is known to
  /// fail. errc::invalid_value for a T that throws when it is copied.
  template <class Token = boost::asio::deferred_t>
  auto async_get(std::string_view key, Token&& token = {}) const {
    auto start = [core = core_, key = std::string(key)](auto h) mutable {
      using handler_type = decltype(h);
      detail::start_call<detail::look_reply<T>, handler_type>(*core, key, std::move(h),
                                                              detail::only_looks{});
    };
    return this->template initiate<cached<T>>(std::move(start), std::forward<Token>(token));
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

  cached<T> get(std::string_view key) const {
    auto kept = core_->find_near(key, detail::caller_wish::look);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::reply_of<detail::look_reply<T>>(std::move(kept)).value();
    }
    return this->template wait_for<cached<T>, detail::look_reply<T>>(key, detail::only_looks{});
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
  using calls = cache_load_calls<T, Codec>;
  using calls::core_;

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
