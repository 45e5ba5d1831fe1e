// The calls of cache<T> that are there for what a process keeps: see cache_options::near. Without a
// near cache they work as their names say, and ask the store.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <herdlock/cache_tag_calls.hpp>
#include <herdlock/hot_fleet.hpp>
#include <herdlock/hot_keys.hpp>

namespace herdlock {
inline namespace v0 {

/// A part of cache<T>.
template <class T, class Codec>
class cache_near_calls : public cache_tag_calls {
 public:
  /// async_get_or_load() without a copy: `void(failure, std::shared_ptr<T const>)`, null for "no
  /// such thing". Others may have the same object.
  template <class Loader, class Token = boost::asio::deferred_t>
  requires detail::is_coroutine_loader<Loader>
  auto async_get_or_load_shared(std::string_view key, Loader loader, Token&& token = {}) const {
    static_assert(
        detail::coroutine_loader_of<Loader, T>,
        "the loader of async_get_or_load_shared is called with a herdlock::load_context, or with "
        "nothing, and returns a boost::asio::awaitable<std::optional<T>>");
    auto start = [core = core_, key = std::string(key),
                  loader = std::move(loader)](auto h) mutable {
      using handler_type = decltype(h);
      using call_loader = detail::coroutine_loader<T, Codec, Loader>;
      auto executor = detail::loader_executor(h, core->get_executor());
      detail::start_call<detail::shared_load_reply<T>, handler_type>(
          *core, key, std::move(h), call_loader{std::move(loader), std::move(executor)});
    };
    return this->template initiate<std::shared_ptr<T const>>(std::move(start),
                                                             std::forward<Token>(token));
  }

  template <class Token = boost::asio::deferred_t>
  requires(!detail::is_coroutine_loader<std::decay_t<Token>>) auto async_get_or_load_shared(
      std::string_view key, Token&& token = {}) const {
    auto start = [core = core_, key = std::string(key)](auto h) mutable {
      using handler_type = decltype(h);
      detail::start_call<detail::shared_load_reply<T>, handler_type>(*core, key, std::move(h),
                                                                     detail::loader_of_cache{});
    };
    return this->template initiate<std::shared_ptr<T const>>(std::move(start),
                                                             std::forward<Token>(token));
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
  std::shared_ptr<T const> get_or_load_shared(std::string_view key, Loader&& loader) const {
    static_assert(
        detail::blocking_loader_of<std::decay_t<Loader>, T>,
        "the loader of get_or_load_shared is called with a herdlock::load_context const&, or with "
        "nothing, and returns a T or a std::optional<T>");
    auto kept = core_->find_near(key, detail::caller_wish::load);
    if (kept.kind != detail::entry_kind::miss) {
      return std::static_pointer_cast<T const>(std::move(kept.object));
    }
    return this
        ->template load_here<T, Codec, std::shared_ptr<T const>, detail::shared_load_reply<T>>(
            key, loader);
  }
  std::shared_ptr<T const> get_or_load_shared(std::string_view key) const {
    auto kept = core_->find_near(key, detail::caller_wish::load);
    if (kept.kind != detail::entry_kind::miss) {
      return std::static_pointer_cast<T const>(std::move(kept.object));
    }
    core_->refuse_own_key(key);
    return this->template wait_for<std::shared_ptr<T const>, detail::shared_load_reply<T>>(
        key, detail::loader_of_cache{});
  }

  /// get() without a copy.
  cached<std::shared_ptr<T const>> get_shared(std::string_view key) const {
    auto kept = core_->find_near(key, detail::caller_wish::look);
    if (kept.kind != detail::entry_kind::miss) {
      return detail::reply_of<detail::shared_look_reply<T>>(std::move(kept)).value();
    }
    return this->template wait_for<cached<std::shared_ptr<T const>>, detail::shared_look_reply<T>>(
        key, detail::only_looks{});
  }

  void fence() const {
    auto start = [&](handler<void> h) { core_->fence(std::move(h)); };
    detail::wait_for<void>(core_->context(), start).value();
  }
  void drop_kept() const {
    auto start = [&](handler<void> h) { core_->drop_kept(std::move(h)); };
    detail::wait_for<void>(core_->context(), start).value();
  }

 protected:
  using cache_tag_calls::cache_tag_calls;
};

}  // namespace v0
}  // namespace herdlock
