// Work that must not outlive its lease.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <concepts>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>

#include <herdlock/lock.hpp>

namespace herdlock {
inline namespace v0 {

namespace detail {

/// A strand of its own on the executor.
boost::asio::any_io_executor strand_around(boost::asio::any_io_executor const& given);

/// Ends when the lease is lost, and not when it is merely released; throws when the loss cannot be
/// waited for (errc::overloaded).
inline boost::asio::awaitable<void> until_lost(lease const& held) {
  auto told = co_await held.async_wait_lost(boost::asio::as_tuple);
  auto const& why = std::get<0>(told);
  if (!why) co_return;
  if (!(why == errc::canceled)) throw error(why);
  boost::asio::steady_timer never(co_await boost::asio::this_coro::executor,
                                  boost::asio::steady_timer::time_point::max());
  co_await never.async_wait(boost::asio::use_awaitable);
}

/// while_held on a strand, where it is started, too: the one that ends first cancels the other.
template <class T>
boost::asio::awaitable<T> race_with_loss(lease const& held, boost::asio::awaitable<T> work) {
  auto const strand = co_await boost::asio::this_coro::executor;
  auto const early = co_await boost::asio::this_coro::cancellation_state;
  if (early.cancelled() != boost::asio::cancellation_type::none) {
    throw boost::system::system_error(boost::asio::error::operation_aborted);
  }
  // The caller's own state has decided which cancellations come through.
  co_await boost::asio::this_coro::reset_cancellation_state(
      boost::asio::enable_total_cancellation());
  auto watch = until_lost(held);
  auto group = boost::asio::experimental::make_parallel_group(
      boost::asio::co_spawn(strand, std::move(work), boost::asio::deferred),
      boost::asio::co_spawn(strand, std::move(watch), boost::asio::deferred));
  // Both have ended when the wait returns.
  auto race =
      group.async_wait(boost::asio::experimental::wait_for_one(), boost::asio::use_awaitable);
  // Not bound to names: compilers up to GCC 16 forget to destroy what is bound here.
  auto ended = co_await std::move(race);
  auto const& order = std::get<0>(ended);
  auto const& thrown = std::get<1>(ended);
  auto const& unwatched = std::get<std::tuple_size_v<decltype(ended)> - 1>(ended);
  if (failure why = held.lost_reason(); why) throw error(why);
  if (order[0] == 1 && unwatched) std::rethrow_exception(unwatched);
  if (thrown) std::rethrow_exception(thrown);
  if constexpr (!std::is_void_v<T>) co_return std::move(std::get<2>(ended));
}

}  // namespace detail

/// Runs `work` on a strand of the calling coroutine's executor, which may have several threads
/// (this_coro::executor in the work is the strand), and cancels it (every cancellation type) when
/// the lease is lost; returns when the work has ended, with its value.
///
/// Throws herdlock::error with errc::lost when the lease was lost before the work had ended, even
/// if the work ended well afterwards: others may have been at it too. Throws what the work throws
/// otherwise; errc::overloaded when too many wait for the loss of this lease already. Cancelling
/// the caller cancels the work; releasing the lease early does not. The lease must outlive the
/// call; it is not released. When the work never reaches a suspension that honours cancellation,
/// use lease::lost_token() inside it.
template <class T>
boost::asio::awaitable<T> while_held(lease const& held, boost::asio::awaitable<T> work) {
  auto const strand = detail::strand_around(co_await boost::asio::this_coro::executor);
  auto race = detail::race_with_loss<T>(held, std::move(work));
  auto ended = boost::asio::co_spawn(strand, std::move(race), boost::asio::use_awaitable);
  co_return co_await std::move(ended);
}

/// The coroutine form of lock::with: acquires, runs `work(lease&)` (a callable that returns
/// boost::asio::awaitable<void>) under while_held, and releases in every case, also when the work
/// throws or is cancelled. False when another held the resource until the wait was over.
///
/// Throws herdlock::error for trouble with the store on acquiring, and for errc::lost.
template <class Work>
[[nodiscard]] boost::asio::awaitable<bool> async_with(lock where, acquire_options options,
                                                      Work work) {
  static_assert(std::same_as<std::invoke_result_t<Work&, lease&>, boost::asio::awaitable<void>>,
                "async_with calls its work with a herdlock::lease&, and it returns a "
                "boost::asio::awaitable<void>");
  acquired held = co_await where.async_acquire(options, boost::asio::use_awaitable);
  if (!held) co_return false;
  std::exception_ptr thrown;
  try {
    auto working = work(*held);
    co_await while_held(*held, std::move(working));
  } catch (...) {
    thrown = std::current_exception();
  }
  // The release must not be skipped because the caller was cancelled meanwhile.
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  auto released = co_await held->async_release(boost::asio::as_tuple);
  if (thrown) std::rethrow_exception(thrown);
  // A store that does not answer does not undo the work.
  if (!std::get<0>(released) && std::get<1>(released) == release_reply::lost) {
    throw error(make_failure(errc::lost, "the lease on '" + where.name().str() + "' in " +
                                             where.where().display_name() +
                                             " was lost while the work ran"));
  }
  co_return true;
}

}  // namespace v0
}  // namespace herdlock
