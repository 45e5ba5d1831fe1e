// A completion token for those who want one object: `void(failure, T)` becomes `void(result<T>)`.
#pragma once

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <type_traits>
#include <utility>

#include <herdlock/detail/async.hpp>

namespace herdlock_test {

namespace asio = boost::asio;
using herdlock::failure;
using herdlock::result;

template <class Token>
struct as_result_token {
  Token inner;
};

/// `job.async_acquire({}, as_result(asio::use_future))`, or a handler of result<T>.
template <class Token>
as_result_token<std::decay_t<Token>> as_result(Token&& token) {
  return {std::forward<Token>(token)};
}

/// Makes one object of the two.
template <class Handler>
struct joining_handler {
  Handler inner;

  void operator()(failure why) {
    std::move(inner)(why ? result<void>(std::move(why)) : result<void>());
  }
  template <class T>
  void operator()(failure why, T value) {
    std::move(inner)(why ? result<T>(std::move(why)) : result<T>(std::move(value)));
  }
};

template <class Initiation>
struct joining_initiation {
  using executor_type = typename Initiation::executor_type;
  Initiation start;

  executor_type get_executor() const noexcept { return start.get_executor(); }

  template <class Handler>
  void operator()(Handler&& h) {
    std::move(start)(joining_handler<std::decay_t<Handler>>{std::forward<Handler>(h)});
  }
};

template <class Token, class T>
struct as_result_initiate {
  template <class Initiation>
  static auto initiate(Initiation&& start, as_result_token<Token> token) {
    using joining = joining_initiation<std::decay_t<Initiation>>;
    return asio::async_initiate<Token, void(result<T>)>(joining{std::forward<Initiation>(start)},
                                                        token.inner);
  }
};

}  // namespace herdlock_test

template <class Token, class T>
struct boost::asio::async_result<herdlock_test::as_result_token<Token>, void(herdlock::failure, T)>
    : herdlock_test::as_result_initiate<Token, T> {};
template <class Token>
struct boost::asio::async_result<herdlock_test::as_result_token<Token>, void(herdlock::failure)>
    : herdlock_test::as_result_initiate<Token, void> {};

template <template <class, class> class Associator, class Handler, class Default>
struct boost::asio::associator<Associator, herdlock_test::joining_handler<Handler>, Default>
    : Associator<Handler, Default> {
  static auto get(herdlock_test::joining_handler<Handler> const& joining) noexcept {
    return Associator<Handler, Default>::get(joining.inner);
  }
  static auto get(herdlock_test::joining_handler<Handler> const& joining,
                  Default const& fallback) noexcept
      -> decltype(Associator<Handler, Default>::get(joining.inner, fallback)) {
    return Associator<Handler, Default>::get(joining.inner, fallback);
  }
};
