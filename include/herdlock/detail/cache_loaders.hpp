// How the loaders of users are run: on this thread, as a coroutine, in the cache's pool. Each tells
// a load_sink what it came to.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/awaitable.hpp>
#include <concepts>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <herdlock/codec.hpp>
#include <herdlock/detail/cache_core.hpp>
#include <herdlock/detail/stoppable_coroutine.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// The entry as the codec makes it; what the codec throws is errc::invalid_value.
template <class T, class Codec>
result<std::shared_ptr<void>> decode_entry(cache_value const& stored) {
  try {
    result<T> value = Codec::decode(stored);
    if (value.has_error()) return value.error();
    return std::shared_ptr<void>(std::make_shared<T>(*std::move(value)));
  } catch (...) {
    return make_failure(errc::invalid_value, exception_text(std::current_exception()));
  }
}

template <class T, class Codec>
result<cache_value> encode_entry(T const& value) {
  try {
    return Codec::encode(value);
  } catch (...) {
    return make_failure(errc::invalid_value, exception_text(std::current_exception()));
  }
}

template <class T, class Codec>
load_outcome loaded_outcome(std::optional<T> value) {
  if (!value) return {.answer = {.kind = entry_kind::absent}};
  auto encoded = encode_entry<T, Codec>(*value);
  auto object = std::make_shared<T>(*std::move(value));
  return {.answer = {.kind = entry_kind::value, .object = std::move(object)},
          .encoded = std::move(encoded)};
}

/// The outcome of a loader that has ended with this: what it has decided holds.
template <class T, class Codec>
load_outcome decided_outcome(load_outcome made, load_state& state) {
  if (made.error) return made;
  made.decided = std::exchange(state.decided, {});
  if (made.decided.is_modified) return made;
  made.answer = state.replaced;
  made.encoded = absent{};
  if (auto const* const old = static_cast<T const*>(made.answer.object.get())) {
    made.encoded = encode_entry<T, Codec>(*old);
  }
  return made;
}

template <class T, class Codec>
load_outcome decided_outcome(std::optional<T> value, load_state& state) {
  if (!state.decided.is_modified) value.reset();  // what is kept is encoded, and this is not
  return decided_outcome<T, Codec>(loaded_outcome<T, Codec>(std::move(value)), state);
}

// ------------------------------------------------------------------------- what a loader is

template <class Loader, class Context>
concept takes_context = std::invocable<Loader&, Context&>;

/// The result of a loader that is called with its context, or with nothing.
template <class Loader, class Context>
decltype(auto) call_loader(Loader& loader, [[maybe_unused]] Context& context) {
  if constexpr (takes_context<Loader, Context>) {
    return loader(context);
  } else {
    return loader();
  }
}

template <class Loader, class T>
concept is_loader = takes_context<Loader, load_context_of<T>> || std::invocable<Loader&>;

template <class Loader, class T>
using loaded_by =
    decltype(call_loader(std::declval<Loader&>(), std::declval<load_context_of<T>&>()));

template <class Result>
struct awaited {};
template <class Value>
struct awaited<boost::asio::awaitable<Value>> {
  using type = Value;
};

/// A coroutine, whatever it gives. Some completion tokens can be called, too.
template <class Loader, class T>
concept is_coroutine_loader = is_loader<Loader, T> && requires {
  typename awaited<loaded_by<Loader, T>>::type;
};

template <class Loader, class T>
concept blocking_loader_of =
    is_loader<Loader, T> && std::convertible_to<loaded_by<Loader, T>, std::optional<T>>;

template <class Loader, class T>
concept coroutine_loader_of = is_loader<Loader, T> &&
    std::same_as<loaded_by<Loader, T>, boost::asio::awaitable<std::optional<T>>>;

// --------------------------------------------------------------------------- blocking loaders

/// The keys that are being loaded on this thread, with their caches: a loader that asks for one of
/// them would wait for itself.
class loading_here {
 public:
  loading_here(void const* cache, std::string key);
  loading_here(loading_here const&) = delete;
  loading_here& operator=(loading_here const&) = delete;
  ~loading_here();

  static bool includes(void const* cache, std::string_view key) noexcept;

 private:
  void const* cache_;
  std::string key_;
  loading_here* outer_;
};

/// The same for many of them.
class loading_these {
 public:
  loading_these(void const* cache, std::vector<std::string> const& keys);
  loading_these(loading_these const&) = delete;
  loading_these& operator=(loading_these const&) = delete;
  ~loading_these();

 private:
  std::list<loading_here> scopes_;
};

/// The outcome of a loader that ended its thread (pthread_exit, or a cancelled thread).
load_outcome ended_its_thread();

/// `work` gives an outcome. So is what it throws; the end of the thread goes on behind the sink.
template <class Work>
void run_to(load_sink& sink, Work&& work) {
  std::optional<load_outcome> outcome;
  try {
    outcome.emplace(work());
  } catch (...) {
    auto const thrown = std::current_exception();
    if (!thrown) {  // no exception of C++: the thread is being unwound, which must go on
      sink(ended_its_thread());
      throw;
    }
    outcome.emplace(failed_outcome(thrown));
  }
  sink(*std::move(outcome));
}

/// A blocking loader for one key, on this thread.
template <class T, class Codec, class Loader>
void load_one_here(Loader& loader, load_context const& of, load_sink& sink) {
  load_context_of<T> context(of);
  run_to(sink, [&] {
    std::optional<T> value = call_loader(loader, context);
    return decided_outcome<T, Codec>(std::move(value), *context.state());
  });
}

// -------------------------------------------------------------------------------- coroutines

/// The keeper of a coroutine loader, which is told when that is destroyed before its end.
template <class Keeper>
class loader_keeper {
 public:
  explicit loader_keeper(std::shared_ptr<Keeper> keep) : keep_(std::move(keep)) {}
  loader_keeper(loader_keeper&&) noexcept = default;
  loader_keeper& operator=(loader_keeper&&) = delete;
  ~loader_keeper() {
    if constexpr (requires { keep_->abandon(); }) {
      if (keep_) keep_->abandon();
    }
  }
  void ended() noexcept { keep_.reset(); }

 private:
  std::shared_ptr<Keeper> keep_;
};

/// A coroutine for one key. The loader may be a lambda coroutine, which must outlive its
/// suspension: `keep` has it.
template <class T, class Codec, class Keeper, class Loader>
void load_by_coroutine(boost::asio::any_io_executor const& executor, std::shared_ptr<Keeper> keep,
                       Loader& loader, load_context const& context, load_sink sink) {
  struct body {
    std::shared_ptr<Keeper> keep;
    Loader* loader;
    load_context_of<T> context;
    boost::asio::awaitable<std::optional<T>> operator()() {
      if (context.stop().stop_requested()) throw stopped_before_it_began();
      return call_loader(*loader, context);
    }
  };
  struct end {
    load_sink sink;  // destroyed behind the keeper
    loader_keeper<Keeper> keep;
    std::shared_ptr<load_state> state;
    void operator()(std::exception_ptr const& thrown, std::optional<T> value) {
      keep.ended();
      if (thrown) return sink(failed_outcome(thrown));
      run_to(sink, [&] { return decided_outcome<T, Codec>(std::move(value), *state); });
    }
  };
  auto const stop = context.stop();
  auto const state = context.state();
  start_coroutine(executor, stop, body{keep, &loader, load_context_of<T>(context)},
                  end{std::move(sink), loader_keeper<Keeper>(keep), state});
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
