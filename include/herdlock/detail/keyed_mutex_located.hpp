// A type-erased handler together with the executor to call it on. An erased handler can still tell
// its executor, but only as boost::asio::any_completion_executor, which can run a function at once
// and cannot promise not to; so the executor is taken from the handler before its type is erased.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <type_traits>
#include <utility>

namespace herdlock {
inline namespace v0 {
namespace detail {

template <class Erased>
struct located {
  boost::asio::any_io_executor executor;  ///< posting here never runs anything at once
  Erased done;
};

// A handler that had been erased before it came to us: called through the fallback executor, and
// from there on its own.
template <class Erased>
struct relayed {
  Erased done;

  template <class... Results>
  void operator()(Results... results) {
    auto executor = boost::asio::get_associated_executor(done);
    auto call = [done = std::move(done), ... results = std::move(results)]() mutable {
      std::move(done)(std::move(results)...);
    };
    boost::asio::dispatch(executor, std::move(call));
  }
};

template <class Erased, class Handler>
located<Erased> locate(Handler&& done, boost::asio::any_io_executor const& fallback) {
  auto executor = boost::asio::get_associated_executor(done, fallback);
  if constexpr (std::is_convertible_v<decltype(executor), boost::asio::any_io_executor>) {
    return {std::move(executor), Erased(std::forward<Handler>(done))};
  } else {
    return {fallback, Erased(relayed<std::decay_t<Handler>>{std::forward<Handler>(done)})};
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock

// A relayed handler keeps what was associated with it, its cancellation slot above all.
template <template <class, class> class Associator, class Erased, class Default>
struct boost::asio::associator<Associator, herdlock::detail::relayed<Erased>, Default>
    : Associator<Erased, Default> {
  static auto get(herdlock::detail::relayed<Erased> const& h) noexcept {
    return Associator<Erased, Default>::get(h.done);
  }
  static auto get(herdlock::detail::relayed<Erased> const& h, Default const& fallback) noexcept {
    return Associator<Erased, Default>::get(h.done, fallback);
  }
};
