// The one shape of every asynchronous operation: a public template of a few lines over a compiled
// function that takes a type-erased handler.
//
// Outside an operation completes with `void(failure, T)`, or `void(failure)` where there is no
// value. After a failure T is T(), which is always the harmless outcome: nothing held, lost, a
// miss. Inside, handlers take a result<T>.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/disposition.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/system_executor.hpp>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <herdlock/error.hpp>

namespace herdlock {
inline namespace v0 {

#ifdef HERDLOCK_OWN_SOURCES
// Ours say `asio::` for short. Users have no such alias: with `using namespace herdlock` it would
// stand beside a standalone Asio of theirs.
namespace asio = boost::asio;
#endif

/// The compiled side's handler: called exactly once, never from inside the initiating call.
template <class T>
using handler = boost::asio::any_completion_handler<void(result<T>)>;

namespace detail {

/// A handler whose own executor has work until it was called: the user's io_context runs on while
/// the operation is away. The operation's executor is excepted, since a store that is open is work
/// for that already, and work of its own would outlive it in whatever the store leaves unanswered.
template <class Handler>
class working_handler {
 public:
  working_handler(Handler h, boost::asio::any_io_executor const& at) : h_(std::move(h)) {
    auto const own = boost::asio::get_associated_executor(h_);
    if (!is_same(own, at)) work_.emplace(tracked(own));
  }

  template <class... Results>
  void operator()(Results&&... results) {
    auto const until_it_returns = std::move(work_);
    std::move(h_)(std::forward<Results>(results)...);
  }

  Handler const& wrapped() const noexcept { return h_; }

 private:
  using executor = boost::asio::associated_executor_t<Handler>;

  static auto tracked(executor const& own) {
    return boost::asio::prefer(own, boost::asio::execution::outstanding_work.tracked);
  }
  static bool is_same(executor const& own, boost::asio::any_io_executor const& at) {
    if constexpr (std::is_constructible_v<boost::asio::any_io_executor, executor const&>) {
      return boost::asio::any_io_executor(own) == at;
    } else {
      return false;
    }
  }

  // This stands before the handler, so that a handler that is dropped uncalled is destroyed while
  // its context is still there.
  std::optional<decltype(tracked(std::declval<executor const&>()))> work_;
  Handler h_;
};

/// The initiation of every asynchronous operation; it keeps the handler's executor working, and
/// carries the executor that boost::asio::cancel_after and friends run their timers on.
template <class Start>
struct initiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type executor;
  Start start;

  executor_type get_executor() const noexcept { return executor; }

  template <class Handler>
  void operator()(Handler&& h) {
    using own = std::decay_t<Handler>;
    // A handler that has no executor of its own is called on the operation's.
    if constexpr (std::is_same_v<boost::asio::associated_executor_t<own>,
                                 boost::asio::system_executor>) {
      std::move(start)(std::forward<Handler>(h));
    } else {
      std::move(start)(working_handler<own>(std::forward<Handler>(h), executor));
    }
  }
};

/// Starts `start(h)` under any completion token; `h` is called with the arguments of the signature.
/// `start` is called once. This is the one way into an operation.
template <class Signature, class Start, class Token>
auto initiate_as(boost::asio::any_io_executor executor, Start start, Token&& token) {
  return boost::asio::async_initiate<Token, Signature>(
      initiation<Start>{std::move(executor), std::move(start)}, token);
}

/// A user's handler of `void(failure, T)` as a handler of result<T>.
template <class T, class Handler>
struct user_handler {
  Handler h;

  // By reference: a T that has no move is copied as seldom as can be.
  void operator()(result<T>&& r) {
    if constexpr (std::is_void_v<T>) {
      std::move(h)(r.has_error() ? std::move(r).error() : failure{});
    } else if (r.has_error()) {
      std::move(h)(std::move(r).error(), T());
    } else {
      std::move(h)(failure{}, *std::move(r));
    }
  }
};

template <class T>
struct completion_signature {
  using type = void(failure, T);
};
template <>
struct completion_signature<void> {
  using type = void(failure);
};

template <class T, class Start>
struct wrapping_start {
  Start start;

  template <class Handler>
  void operator()(Handler&& h) {
    std::move(start)(user_handler<T, std::decay_t<Handler>>{std::forward<Handler>(h)});
  }
};

/// Starts `start(h)` under any completion token, with a handler of result<T>. `start` is called
/// once.
template <class T, class Start, class Token>
auto initiate(boost::asio::any_io_executor executor, Start start, Token&& token) {
  return initiate_as<typename completion_signature<T>::type>(
      std::move(executor), wrapping_start<T, Start>{std::move(start)}, std::forward<Token>(token));
}

template <class T>
struct bound_completion {
  handler<T> h;
  result<T> r;
  void operator()() { std::move(h)(std::move(r)); }
};

/// The error in place of a value that threw when it was copied or moved: errc::invalid_value
/// with the text of the exception, or errc::overloaded where there was no memory. To be called in a
/// catch block; the end of a thread goes on.
failure copy_failure();

/// An exception of a user's code leaves in an event of its own: nothing of ours is left in the
/// middle. To be called in a catch block.
inline void rethrow_later(boost::asio::any_io_executor const& executor) {
  boost::asio::post(executor,
                    [thrown = std::current_exception()] { std::rethrow_exception(thrown); });
}

/// Completes on the handler's own executor, at once if this is it: for use in event handlers.
/// An exception of the handler leaves on `fallback`, later.
template <class T>
void dispatch_result(boost::asio::any_io_executor const& fallback, handler<T> h, result<T> r) {
  // The handler may be the last that its context has to do, and may have run on another thread by
  // the time that this one lets go of the executor, which for a strand is to reach into the
  // context: until then the context has work.
  auto const executor = boost::asio::prefer(boost::asio::get_associated_executor(h, fallback),
                                            boost::asio::execution::outstanding_work.tracked);
  try {
    boost::asio::dispatch(executor, bound_completion<T>{std::move(h), std::move(r)});
  } catch (...) {
    rethrow_later(fallback);
  }
}

/// Completes on the handler's own executor, later: for results that are known inside the
/// initiating call. `through` is any executor; the completion passes through its queue, since an
/// erased completion executor cannot promise not to run things at once.
template <class T>
void post_result(boost::asio::any_io_executor const& through, handler<T> h, result<T> r) {
  boost::asio::post(through, [through, h = std::move(h), r = std::move(r)]() mutable {
    dispatch_result<T>(through, std::move(h), std::move(r));
  });
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock

/// Lets completion tokens see a failure as what it is: co_await and futures throw herdlock::error.
template <>
struct boost::asio::disposition_traits<herdlock::failure> {
  static bool not_an_error(herdlock::failure const& f) noexcept { return !f.code; }
  [[noreturn]] static void throw_exception(herdlock::failure f) {
    throw herdlock::error(std::move(f));
  }
  static std::exception_ptr to_exception_ptr(herdlock::failure f) noexcept {
    if (!f.code) return nullptr;
    return std::make_exception_ptr(herdlock::error(std::move(f)));
  }
};

/// The user's handler keeps its executor, allocator and cancellation slot, in either of the two.
template <template <class, class> class Associator, class T, class Handler, class Default>
struct boost::asio::associator<Associator, herdlock::detail::user_handler<T, Handler>, Default>
    : Associator<Handler, Default> {
  static auto get(herdlock::detail::user_handler<T, Handler> const& wrapped) noexcept {
    return Associator<Handler, Default>::get(wrapped.h);
  }
  static auto get(herdlock::detail::user_handler<T, Handler> const& wrapped,
                  Default const& fallback) noexcept
      -> decltype(Associator<Handler, Default>::get(wrapped.h, fallback)) {
    return Associator<Handler, Default>::get(wrapped.h, fallback);
  }
};
template <template <class, class> class Associator, class Handler, class Default>
struct boost::asio::associator<Associator, herdlock::detail::working_handler<Handler>, Default>
    : Associator<Handler, Default> {
  static auto get(herdlock::detail::working_handler<Handler> const& working) noexcept {
    return Associator<Handler, Default>::get(working.wrapped());
  }
  static auto get(herdlock::detail::working_handler<Handler> const& working,
                  Default const& fallback) noexcept
      -> decltype(Associator<Handler, Default>::get(working.wrapped(), fallback)) {
    return Associator<Handler, Default>::get(working.wrapped(), fallback);
  }
};
