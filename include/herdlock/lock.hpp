// The lock: a resource in a store, from which leases are had.
#pragma once

#include <concepts>
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#include <herdlock/detail/async.hpp>
#include <herdlock/inspect.hpp>
#include <herdlock/lease.hpp>
#include <herdlock/open.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// Renewing in the background, or not.
enum class renewal { automatic, none };

struct acquire_options {
  /// How long the store keeps the resource ours without a renewal; 10 ms to a year.
  milliseconds ttl = std::chrono::seconds(30);
  /// How long acquire() waits while another holds it; 0 tries once, wait_forever sets no limit. As
  /// long as the default ttl, so that a holder that has died is outwaited. try_acquire() does not
  /// wait, whatever stands here.
  milliseconds wait = std::chrono::seconds(30);
  /// Renewed at a third of the ttl, with jitter.
  renewal renew = renewal::automatic;
  /// How long before valid_until() the loss is signalled when no renewal gets through: the time
  /// the work needs to stop. Less than half of the ttl.
  milliseconds loss_margin{0};
  /// Stop renewing after this long, so that hung work does not hold for ever.
  std::optional<milliseconds> max_hold = std::nullopt;
};

/// Nothing when another held it until the wait was over: that is no error.
using acquired = std::optional<lease>;

/// A handle on one resource of one store; cheap to copy; safe from any thread.
///
/// Asynchronous operations take any completion token, complete with `void(failure, T)` on the
/// handler's executor, which has outstanding work until then (io_context::run() does not return)
/// and must outlive it. They can be cancelled with every cancellation type: they then complete with
/// errc::canceled, and a grant that crosses the cancellation is given back by the library. In a
/// coroutine the failure is thrown as herdlock::error; with `boost::asio::as_tuple` nothing is
/// thrown:
///
///     auto got = co_await report.async_acquire({}, boost::asio::as_tuple);
///     auto& [why, held] = got;  // the tuple has a name: GCC 12 needs it
///
/// `boost::asio::redirect_error` takes Boost's error_code only, and does not fit.
///
/// Blocking operations throw herdlock::error for trouble with the store, and must not be called on
/// the store's own thread.
class lock {
 public:
  lock(store s, resource name) : store_(std::move(s)), name_(std::move(name)) {}
  /// Throws herdlock::error for an invalid name.
  lock(store s, std::string_view name) : lock(std::move(s), resource(name)) {}

  resource const& name() const noexcept { return name_; }
  store const& where() const noexcept { return store_; }

  /// `void(failure, acquired)`: the lease, or nothing when another held the resource until
  /// options.wait was over.
  template <class Token = boost::asio::deferred_t>
  auto async_acquire(acquire_options const& options = {}, Token&& token = {}) const {
    return detail::initiate<acquired>(
        store_.get_executor(),
        [self = *this, options](handler<acquired> h) {
          start_acquire(self, options, std::move(h));
        },
        std::forward<Token>(token));
  }

  /// async_acquire without waiting.
  template <class Token = boost::asio::deferred_t>
  auto async_try_acquire(acquire_options options = {}, Token&& token = {}) const {
    options.wait = milliseconds{0};
    return async_acquire(options, std::forward<Token>(token));
  }

  /// `void(failure, acquired)`: the lease of the ticket, proved by a renewal; nothing when it is
  /// not held by the ticket's owner any more. It does not wait.
  template <class Token = boost::asio::deferred_t>
  auto async_restore(lease_ticket ticket, acquire_options const& options = {},
                     Token&& token = {}) const {
    return detail::initiate<acquired>(
        store_.get_executor(),
        [self = *this, ticket = std::move(ticket), options](handler<acquired> h) {
          start_restore(self, ticket, options, std::move(h));
        },
        std::forward<Token>(token));
  }

  /// The holder of the resource; nothing if it is free: `void(failure, std::optional<lease_info>)`.
  template <class Token = boost::asio::deferred_t>
  auto async_inspect(Token&& token = {}) const {
    return detail::initiate<std::optional<lease_info>>(
        store_.get_executor(),
        [self = *this](handler<std::optional<lease_info>> h) { start_inspect(self, std::move(h)); },
        std::forward<Token>(token));
  }

  /// The lease, or nothing when another held the resource until options.wait was over (30 s by
  /// default).
  [[nodiscard]] acquired acquire(acquire_options const& options = {}) const;
  /// The same, and a stop, from any thread, ends the wait: it throws errc::canceled, at once and
  /// without asking the store when the stop was there first. A grant that crosses it is given back.
  [[nodiscard]] acquired acquire(acquire_options const& options, std::stop_token stop) const;
  /// The lease, or nothing when another holds the resource. Asks once.
  [[nodiscard]] acquired try_acquire(acquire_options options = {}) const;
  /// As async_restore.
  [[nodiscard]] acquired restore(lease_ticket const& ticket,
                                 acquire_options const& options = {}) const;
  std::optional<lease_info> inspect() const;
  /// Takes the resource from whoever holds it; false when nobody did. For operators.
  bool force_release() const;

  /// Calls `work(lease&)` while holding the resource and gives it back in every case, also when
  /// `work` throws. Returns `work`'s value in an optional (`true` for void): nothing when busy.
  /// Throws errc::lost when the lease was lost while `work` ran: others may have been at it too.
  template <class Work>
  [[nodiscard]] auto with(acquire_options const& options, Work&& work) const;
  /// The same with the default options: waits for 30 s.
  template <class Work>
  [[nodiscard]] auto with(Work&& work) const {
    return with(acquire_options{}, std::forward<Work>(work));
  }

 private:
  static void start_acquire(lock const&, acquire_options const&, handler<acquired>);
  static void start_restore(lock const&, lease_ticket const&, acquire_options const&,
                            handler<acquired>);
  static void start_inspect(lock const&, handler<std::optional<lease_info>>);
  void finish_with(lease& held) const;

  store store_;
  resource name_;
};

template <class Work>
auto lock::with(acquire_options const& options, Work&& work) const {
  static_assert(std::invocable<Work&, lease&>, "lock::with calls its work with a herdlock::lease&");
  using value = std::invoke_result_t<Work&, lease&>;
  static_assert(!std::is_reference_v<value>, "work returns a value or void");
  acquired held = acquire(options);
  if constexpr (std::is_void_v<value>) {
    if (!held) return false;
    std::forward<Work>(work)(*held);
    finish_with(*held);
    return true;
  } else {
    if (!held) return std::optional<value>();
    std::optional<value> made(std::forward<Work>(work)(*held));
    finish_with(*held);
    return made;
  }
}

}  // namespace v0
}  // namespace herdlock
