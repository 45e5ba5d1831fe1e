// The lease: a time-bounded right to a resource, renewed in the background, that says in time when
// it is gone.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <herdlock/detail/async.hpp>
#include <herdlock/inspect.hpp>
#include <herdlock/open.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

namespace detail {
class lease_core;  // src/runtime: the lease machine over a store and a timer
}

/// How lease::leave() leaves a lease.
enum class left_as {
  held,  ///< it just ends later
  done,  ///< the work is done: who comes meanwhile is told so, see lease_info::done
};

/// The ticket with which another process goes on with a lease: as text it is `ttl in
/// ms:fencing:length of owner:owner token:resource`. It holds the owner's secret.
struct lease_ticket {
  resource name;
  owner_token owner;
  fencing_token fencing;
  milliseconds ttl;

  std::string str() const;
  /// Fails with errc::invalid_owner.
  static result<lease_ticket> parse(std::string_view text);
};

/// A held lease. Move-only; the destructor gives the resource back (in the background), release()
/// does it early and tells the outcome. All members may be called from any thread, not
/// concurrently with a move or the destructor.
///
/// Loss: when the right can no longer be proved (the store said so, or valid_until() less the
/// loss margin, at least 1 %, passed without a renewal) the stop token is triggered, once, on the
/// store's executor. A lost lease is never taken again behind your back.
///
/// A lease that was moved from, or detached, is none: valid() is false, and what needs a lease
/// throws herdlock::error (errc::lost).
class [[nodiscard]] lease {
 public:
  lease(lease&&) noexcept;
  lease& operator=(lease&&) noexcept;
  ~lease();

  resource const& name() const;
  fencing_token fencing() const;
  owner_token const& owner() const;

  /// True while the right is proved: not lost, not released, and the clock is before
  /// valid_until(). Asks the clock itself, so it is right also after a pause of the process.
  bool valid() const noexcept;

  /// The local end of the lease as last granted or renewed: counted from before the request was
  /// sent, less a drift margin of 1 % + 2 ms.
  clock::time_point valid_until() const noexcept;

  /// How much is left of it, 0 at least: until valid_until() while valid(), else 0.
  milliseconds remaining() const noexcept;

  /// Triggered at loss; never by a release. A std::stop_callback that throws ends the process, by
  /// the language's rules.
  std::stop_token lost_token() const noexcept;

  /// Why it was lost; success while it is not.
  failure lost_reason() const;

  /// Waits for the loss: `void(failure)`, without a failure when the lease is lost (lost_reason()
  /// says why), with errc::canceled when it is released or the wait is cancelled, and with
  /// errc::overloaded when a thousand wait for it already.
  template <class Token = boost::asio::deferred_t>
  auto async_wait_lost(Token&& token = {}) const {
    return detail::initiate<void>(
        executor(), [core = core_](handler<void> h) { wait_lost(core, std::move(h)); },
        std::forward<Token>(token));
  }

  /// Renews now, to the full ttl: before a step that must not be cut short, and for leases with
  /// renewal::none. Joins a renewal that is under way: then the ttl counts from its sending.
  /// Completes with `void(failure, renew_reply)`; `lost` when it was ours no more (which is the
  /// loss, as told by the store), errc::not_supported when max_hold is over, errc::canceled when it
  /// is released meanwhile, errc::overloaded when a thousand wait. Cancellation ends the wait only.
  template <class Token = boost::asio::deferred_t>
  auto async_renew(Token&& token = {}) {
    return detail::initiate<renew_reply>(
        executor(), [core = core_](handler<renew_reply> h) { ask_renewal(core, std::move(h)); },
        std::forward<Token>(token));
  }

  /// Blocking async_renew. Throws herdlock::error for trouble with the store: the lease then goes
  /// on to valid_until(), and is renewed as before. Not on the store's own thread.
  renew_reply renew();

  /// Gives the resource back: `void(failure, release_reply)`, `lost` when it was ours no more. The
  /// first outcome is remembered. Cancellation ends the wait, not the release.
  template <class Token = boost::asio::deferred_t>
  auto async_release(Token&& token = {}) {
    return detail::initiate<release_reply>(
        executor(), [core = core_](handler<release_reply> h) { give_back(core, std::move(h)); },
        std::forward<Token>(token));
  }

  /// Blocking release. Throws herdlock::error when the store cannot answer (the lease then ends by
  /// its ttl; the library goes on trying for that long). Not on the store's own thread.
  release_reply release();

  /// Stops renewing and leaves the lease at the store until its grant, or lock::restore(), is
  /// `time` ago, also where the ttl is longer: for short work that others, whose clocks are
  /// behind, would do again. Nobody holds it any more; others find it busy until then.
  /// `void(failure, release_reply)`, `lost` when it was ours no more. A time that is over gives
  /// it back. It stands for a release: the first outcome of both is remembered. Cancellation ends
  /// the wait, not the leaving. Fails with errc::not_supported where leases cannot be left
  /// (store_traits::leaves_leases) and with errc::invalid_ttl for a time that is no ttl: the
  /// lease goes on then. After another failure it is left, or ends by its ttl.
  template <class Token = boost::asio::deferred_t>
  auto async_leave(milliseconds time, left_as how, Token&& token = {}) {
    return detail::initiate<release_reply>(
        executor(),
        [core = core_, time, how](handler<release_reply> h) {
          leave_behind(core, time, how, std::move(h));
        },
        std::forward<Token>(token));
  }

  /// Blocking async_leave. Throws herdlock::error. Not on the store's own thread.
  release_reply leave(milliseconds time, left_as how);

  /// Lets go of the lease without giving it back, and stops renewing: another process restores it
  /// with lock::restore within the ttl. Throws herdlock::error in a child of fork() (errc::forked).
  lease_ticket detach() &&;

 private:
  friend class detail::lease_core;
  lease(std::shared_ptr<detail::store_context> context,
        std::shared_ptr<detail::lease_core> core) noexcept;
  boost::asio::any_io_executor executor() const;
  detail::lease_core& core() const;
  static void wait_lost(std::shared_ptr<detail::lease_core> const&, handler<void>);
  static void ask_renewal(std::shared_ptr<detail::lease_core> const&, handler<renew_reply>);
  static void give_back(std::shared_ptr<detail::lease_core> const&, handler<release_reply>);
  static void leave_behind(std::shared_ptr<detail::lease_core> const&, milliseconds, left_as,
                           handler<release_reply>);

  std::shared_ptr<detail::store_context> context_;
  std::shared_ptr<detail::lease_core> core_;
};

}  // namespace v0
}  // namespace herdlock
