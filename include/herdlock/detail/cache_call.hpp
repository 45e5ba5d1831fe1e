// The template half of one call of cache<T>: handler and loader behind the cache_caller interface.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <atomic>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <herdlock/detail/cache_loaders.hpp>
#include <herdlock/detail/calling_thread.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// The T of an answer that has one.
template <class T>
T take_value(cache_answer& answer) {
  T& shared = *static_cast<T*>(answer.object.get());
  if (answer.sole) return std::move(shared);
  return std::as_const(shared);
}

/// The answer to a call for one key.
template <class T>
result<std::optional<T>> value_of(result<cache_answer> answer) {
  if (answer.has_error()) return std::move(answer).error();
  if (answer->kind != entry_kind::value) return std::optional<T>();
  return std::optional<T>(take_value<T>(*answer));
}

/// The argument of a call's handler, made of the answer: copying a T may throw.
template <class Reply>
auto reply_of(result<cache_answer> answer) -> decltype(Reply::from(std::move(answer))) {
  try {
    return Reply::from(std::move(answer));
  } catch (...) {
    return copy_failure();
  }
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

// ------------------------------------------------------------------------ the loader of a call

/// None: for plain looks.
struct only_looks {
  static constexpr auto wish = caller_wish::look;
  static constexpr auto from = loader_from::cache;
  bool start(std::shared_ptr<cache_caller> const&, load_context, load_sink) { return false; }
};

/// None: for looks at an entry and its times.
struct only_examines {
  static constexpr auto wish = caller_wish::examine;
  static constexpr auto from = loader_from::cache;
  bool start(std::shared_ptr<cache_caller> const&, load_context, load_sink) { return false; }
};

/// None: the cache's own loader gives what is missing, or whatever is there now.
template <caller_wish Wish>
struct given_by_cache {
  static constexpr auto wish = Wish;
  static constexpr auto from = loader_from::cache;
  bool start(std::shared_ptr<cache_caller> const&, load_context, load_sink) { return false; }
};

using loader_of_cache = given_by_cache<caller_wish::load>;

/// A coroutine: (load_context_of<T>&), or (), -> awaitable<optional<T>>.
template <class T, class Codec, class Loader, caller_wish Wish = caller_wish::load>
struct coroutine_loader {
  static constexpr auto wish = Wish;
  static constexpr auto from = loader_from::call;
  Loader loader;
  boost::asio::any_io_executor executor;

  bool start(std::shared_ptr<cache_caller> const& keep, load_context context, load_sink sink) {
    load_by_coroutine<T, Codec>(executor, keep, loader, context, std::move(sink));
    return true;
  }
};

/// A loader that blocks: (load_context_of<T>&), or (), -> optional<T>. It stays where the call was
/// made, and runs there.
template <class T, class Codec, class Loader, caller_wish Wish = caller_wish::load>
struct blocking_loader {
  static constexpr auto wish = Wish;
  static constexpr auto from = loader_from::call;
  Loader* loader;
  std::shared_ptr<calling_thread> thread;
  void const* cache;

  bool start(std::shared_ptr<cache_caller> const&, load_context context, load_sink sink) {
    auto held = std::make_shared<load_sink>(std::move(sink));
    return thread->run([body = loader, cache = cache, context = std::move(context), held] {
      loading_here const here(cache, context.key().str());
      load_one_here<T, Codec>(*body, context, *held);
    });
  }
};

// ------------------------------------------------------------------------------------ the call

/// One call. `Reply::from(result<cache_answer>)` makes what the handler takes.
template <class Reply, class Handler, class Loader>
class cache_call final : public cache_caller {
 public:
  using executor_type = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

  cache_call(cache_key full_key, Handler h, Loader loader,
             boost::asio::any_io_executor const& fallback)
      : cache_caller(std::move(full_key), Loader::wish, Loader::from),
        work_(boost::asio::get_associated_executor(h, fallback)),
        is_completed_there_(is_same(work_->get_executor(), fallback)),
        handler_(std::move(h)),
        loader_(std::move(loader)) {}

  void complete(result<cache_answer> answer) override {
    if (!handler_) return;  // abandoned
    // A loader's thread may keep this call for longer than its executor lives.
    auto const work = *std::exchange(work_, std::nullopt);
    completion last{std::move(*handler_), std::move(answer)};
    handler_.reset();
    if (is_completed_there_) return last();
    boost::asio::post(work.get_executor(), std::move(last));
  }

  bool start_load(load_context context, load_sink sink) override {
    if (is_abandoned_) return false;
    return loader_->start(shared_from_this(), std::move(context), std::move(sink));
  }

  void abandon() override {
    is_abandoned_ = true;
    handler_.reset();
    work_.reset();
  }

  void drop_loader() override { loader_.reset(); }

 private:
  struct completion {
    Handler h;
    result<cache_answer> answer;
    void operator()() { std::move(h)(reply_of<Reply>(std::move(answer))); }
  };

  static bool is_same(executor_type const& executor, boost::asio::any_io_executor const& other) {
    if constexpr (std::is_constructible_v<boost::asio::any_io_executor, executor_type>) {
      return boost::asio::any_io_executor(executor) == other;
    } else {
      return false;
    }
  }

  std::optional<boost::asio::executor_work_guard<executor_type>> work_;
  // The handler's executor is the one on which complete() is called. The store's is not kept: it
  // may go before the loader ends.
  bool is_completed_there_;
  std::atomic<bool> is_abandoned_ = false;  // on the handler's executor
  std::optional<Handler> handler_;
  std::optional<Loader> loader_;
};

/// A type that may stand where a completion token does: not the options of the call.
template <class Token>
concept is_token = !std::same_as<std::decay_t<Token>, call_options>;

/// The key of a call, without the prefix, and its options.
struct asked_key {
  asked_key(std::string_view which, call_options asked = {}) : key(which), how(asked) {}
  asked_key(std::string const& which, call_options asked = {}) : key(which), how(asked) {}

  std::string_view key;
  call_options how;
};

/// The value that this process keeps of the key, for a call that takes one.
inline cache_answer find_near(cache_core const& core, asked_key const& what,
                              caller_wish wish) noexcept {
  if (what.how.near == near_values::skipped) return {};
  return core.find_near(what.key, wish);
}

/// The full key of a call, or why it cannot be made.
template <class Loader>
result<cache_key> key_of_call(cache_core const& core, asked_key const& what) {
  if (failure why = core.check_call(Loader::from, Loader::wish, what.how); why.code) return why;
  return core.full_key(what.key);
}

/// Makes the call, installs its cancellation in the caller's own thread, and submits it.
template <class Reply, class Handler, class Loader>
void start_call(cache_core& core, asked_key what, Handler h, Loader loader) {
  auto key = key_of_call<Loader>(core, what);
  auto const executor = core.get_executor();
  if (key.has_error()) {
    auto const own = boost::asio::get_associated_executor(h, executor);
    boost::asio::post(own, [h = std::move(h), why = std::move(key).error()]() mutable {
      std::move(h)(Reply::from(result<cache_answer>(std::move(why))));
    });
    return;
  }
  auto slot = boost::asio::get_associated_cancellation_slot(h);
  caller_ptr caller = std::make_shared<cache_call<Reply, Handler, Loader>>(
      *std::move(key), std::move(h), std::move(loader), executor);
  caller->how = what.how;
  if (slot.is_connected()) {
    slot.assign([cancel = core.canceler(caller)](boost::asio::cancellation_type) { cancel(); });
  }
  core.submit(std::move(caller));
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
