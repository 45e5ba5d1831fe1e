// The template half of one call of cache<T>: handler and loader behind the cache_caller interface.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <herdlock/codec.hpp>
#include <herdlock/detail/cache_core.hpp>

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

inline load_outcome failed_outcome(std::exception_ptr const& thrown) {
  return {.answer = {}, .error = exception_text(thrown)};
}

/// The T of an answer that has one.
template <class T>
T take_value(cache_answer& answer) {
  T& shared = *static_cast<T*>(answer.object.get());
  if (answer.sole) return std::move(shared);
  return std::as_const(shared);
}

/// What a call for one key answers.
template <class T>
result<std::optional<T>> value_of(result<cache_answer> answer) {
  if (answer.has_error()) return std::move(answer).error();
  if (answer->kind != entry_kind::value) return std::optional<T>();
  return std::optional<T>(take_value<T>(*answer));
}

/// The executor a loader runs on: the caller's own where it has one for coroutines.
template <class Handler>
boost::asio::any_io_executor loader_executor(Handler const& h,
                                             boost::asio::any_io_executor const& fallback) {
  auto own = boost::asio::get_associated_executor(h, fallback);
  if constexpr (std::convertible_to<decltype(own), boost::asio::any_io_executor>) {
    return own;
  } else {
    return fallback;
  }
}

template <class Loader>
concept takes_context = std::invocable<Loader&, load_context const&>;

/// What a loader gives that is called with a load_context, or with nothing.
template <class Loader>
decltype(auto) call_loader(Loader& loader, [[maybe_unused]] load_context const& context) {
  if constexpr (takes_context<Loader>) {
    return loader(context);
  } else {
    return loader();
  }
}

template <class Loader>
concept is_loader = takes_context<Loader> || std::invocable<Loader&>;

template <class Loader>
using loaded_by = decltype(call_loader(std::declval<Loader&>(), std::declval<load_context>()));

template <class Loader, class T>
concept blocking_loader_of =
    is_loader<Loader> && std::convertible_to<loaded_by<Loader>, std::optional<T>>;

template <class Loader, class T>
concept coroutine_loader_of =
    is_loader<Loader> && std::same_as<loaded_by<Loader>, boost::asio::awaitable<std::optional<T>>>;

/// No loader: for plain looks.
struct no_loader {
  void start(caller_ptr, load_context, load_sink sink) {
    load_outcome none;
    none.error = "no loader";
    sink(std::move(none));
  }
};

/// A loader that is a coroutine: (load_context), or (), -> awaitable<optional<T>>.
template <class T, class Codec, class Loader>
struct coroutine_loader {
  Loader loader;
  boost::asio::any_io_executor executor;

  // The loader may be a lambda coroutine, which must outlive its suspension: `keep` holds it.
  struct run {
    caller_ptr keep;
    Loader* loader;
    load_context context;
    boost::asio::awaitable<std::optional<T>> operator()() { return call_loader(*loader, context); }
  };

  struct done {
    caller_ptr keep;
    load_sink sink;
    void operator()(std::exception_ptr thrown, std::optional<T> value) {
      sink(thrown ? failed_outcome(thrown) : loaded_outcome<T, Codec>(std::move(value)));
    }
  };

  void start(caller_ptr keep, load_context context, load_sink sink) {
    run body{keep, &loader, std::move(context)};
    done end{std::move(keep), std::move(sink)};
    boost::asio::co_spawn(executor, std::move(body), std::move(end));
  }
};

/// A loader that blocks: (load_context const&), or (), -> optional<T>.
template <class T, class Codec, class Loader>
struct blocking_loader {
  Loader loader;
  std::weak_ptr<runtime::loader_pool> pool;

  void start(caller_ptr keep, load_context context, load_sink sink) {
    auto held = std::make_shared<load_sink>(std::move(sink));
    auto work = [keep = std::move(keep), body = &loader, context = std::move(context), held] {
      try {
        (*held)(loaded_outcome<T, Codec>(call_loader(*body, context)));
      } catch (...) {
        (*held)(failed_outcome(std::current_exception()));
      }
    };
    try {
      cache_core::run_on(pool, std::move(work));
    } catch (std::exception const& e) {
      load_outcome none;
      none.error = std::string("no thread for the loader: ") + e.what();
      none.unfinished = true;
      (*held)(std::move(none));
    }
  }
};

/// One call. `Reply::from(result<cache_answer>)` makes what the handler takes.
template <class Reply, class Handler, class Loader>
class cache_call final : public cache_caller {
 public:
  using executor_type = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

  cache_call(cache_key full_key, caller_wish what, Handler h, Loader loader,
             boost::asio::any_io_executor const& fallback)
      : cache_caller(std::move(full_key), what),
        work_(boost::asio::get_associated_executor(h, fallback)),
        through_(fallback),
        handler_(std::move(h)),
        loader_(std::move(loader)) {}

  void complete(result<cache_answer> answer) override {
    // A loader's thread may keep this call for longer than its executors live.
    auto const work = *std::exchange(work_, std::nullopt);
    auto const through = std::exchange(through_, {});
    completion last{std::move(*handler_), std::move(answer)};
    handler_.reset();
    if (is_same(work.get_executor(), through)) return last();
    boost::asio::post(work.get_executor(), std::move(last));
  }

  void start_load(load_context context, load_sink sink) override {
    loader_->start(shared_from_this(), std::move(context), std::move(sink));
  }

  void drop_loader() override { loader_.reset(); }
  caller_ptr loader_to_keep() override { return shared_from_this(); }

 private:
  struct completion {
    Handler h;
    result<cache_answer> answer;
    void operator()() { std::move(h)(Reply::from(std::move(answer))); }
  };

  static bool is_same(executor_type const& executor, boost::asio::any_io_executor const& other) {
    if constexpr (std::is_constructible_v<boost::asio::any_io_executor, executor_type>) {
      return boost::asio::any_io_executor(executor) == other;
    } else {
      return false;
    }
  }

  std::optional<boost::asio::executor_work_guard<executor_type>> work_;
  boost::asio::any_io_executor through_;  // where complete() is called
  std::optional<Handler> handler_;
  std::optional<Loader> loader_;
};

/// Makes the call, installs its cancellation in the caller's own thread, and submits it.
template <class Reply, class Handler, class Loader>
void start_call(cache_core& core, result<cache_key> key, Handler h, Loader loader) {
  auto const executor = core.get_executor();
  if (key.has_error()) {
    auto const own = boost::asio::get_associated_executor(h, executor);
    boost::asio::post(own, [h = std::move(h), why = std::move(key).error()]() mutable {
      std::move(h)(Reply::from(result<cache_answer>(std::move(why))));
    });
    return;
  }
  constexpr auto wish = std::same_as<Loader, no_loader> ? caller_wish::look : caller_wish::load;
  auto slot = boost::asio::get_associated_cancellation_slot(h);
  caller_ptr caller = std::make_shared<cache_call<Reply, Handler, Loader>>(
      *std::move(key), wish, std::move(h), std::move(loader), executor);
  if (slot.is_connected()) {
    slot.assign([cancel = core.canceler(caller)](boost::asio::cancellation_type) { cancel(); });
  }
  core.submit(std::move(caller));
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
