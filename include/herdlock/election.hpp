// Leader election over any store: one of many candidates works, another takes over when it stops.
//
//   election job(store, "nightly", {.start_work = work}, {.ttl = 10s});
//   co_await job.async_campaign();   // stands until somebody resigns
//
// A term is a lease (lock.hpp) and its number is the lease's fencing token: hand it to what the
// work writes to.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/detail/async.hpp>
#include <herdlock/election_state.hpp>
#include <herdlock/lease.hpp>
#include <herdlock/open.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

namespace detail {
class election_core;  // src/runtime: the election machine over a store
class election_work;
class observation_core;
}  // namespace detail

/// A term, while its work runs. Safe from any thread.
class election_term {
 public:
  resource const& name() const { return held_.name(); }
  std::string const& candidate() const { return candidate_; }
  /// Strictly greater than that of every term before, of whatever candidate (0 in stores that do
  /// not fence, see store_traits::fences).
  fencing_token number() const { return held_.fencing(); }
  /// Asks the clock itself: a process that was stopped and continued asks before it acts again.
  bool valid() const noexcept { return held_.valid(); }
  /// Triggered when the work is to end, `stop_grace` before the term can be another's at the
  /// latest.
  std::stop_token stop_token() const noexcept { return stop_.get_token(); }
  /// Ends when the work is to end; what the coroutine awaits next is cancelled then. For work that
  /// only switches something on: switch on, await this, switch off.
  boost::asio::awaitable<void> until_stop() const;
  /// The lease under the term, to look at and for while_held(). The election renews it and gives it
  /// back; nobody else can.
  lease const& held() const noexcept { return held_; }

 private:
  friend class detail::election_work;
  election_term(lease const& held, std::string candidate)
      : held_(held), candidate_(std::move(candidate)) {}

  lease const& held_;
  std::string candidate_;
  std::stop_source stop_;
};

/// A service of the caller's. The term outlives the coroutine.
using election_service = std::function<boost::asio::awaitable<void>(election_term& term)>;

/// Makes a service of a callable that blocks: it gets a thread of its own for the term, with the
/// signal mask of the thread that calls this, and stops when term.stop_token() says so.
election_service in_thread(std::function<void(election_term& term)> work);

struct election_services {
  /// The work of one term; it works until it returns. When the term is to end, its stop token is
  /// triggered and the coroutine cancelled (terminal), `stop_grace` before the term can be
  /// another's. Returning earlier, or throwing, gives the term back: the candidate rests, and
  /// stands again.
  election_service start_work;
  /// Called once for each start_work, when the work is to end or has ended: for work that a stop
  /// token cannot stop, and to clean up. May be left out.
  election_service stop_work{};
};

/// A transition that a candidate has just made.
struct election_transition {
  election_state from;
  election_event event;
  election_state to;
  std::string_view action;      ///< what the candidate does then: `start_work`, …; for people
  fencing_token term;           ///< 0 outside a term
  failure why{};                ///< with failed, refused, lost, and released in vain
  std::exception_ptr thrown{};  ///< by start_work, with finished
  milliseconds back_off{0};     ///< with rest: so long until it stands again
};

struct election_options {
  /// A leader that died is replaced after so long.
  milliseconds ttl = std::chrono::seconds(30);
  /// How long before the end of the term the work is told to stop when no renewal gets through, or
  /// a little longer (stop_notice()): the time that it needs to stop. Less than half of the ttl. By
  /// default a quarter of it, at most 10 s.
  std::optional<milliseconds> stop_grace{};
  /// The rest after trouble with the store, a lost term, or work that ended by itself: it doubles
  /// from the first to the most while that goes on, ± half for jitter, and starts anew after a term
  /// that was longer than the most.
  milliseconds back_off_first{200};
  milliseconds back_off_most{5'000};
  /// The name that people see as the leader: 1 to 80 bytes, no control characters. By default
  /// `host:pid:8 hex digits`.
  std::string candidate{};
  /// The executor that runs the services, one handler at a time; by default the store's own, on
  /// which nothing may block.
  std::optional<boost::asio::any_io_executor> executor{};
  /// Called at each transition, on the store's executor, in order. Must not block.
  std::function<void(election_transition const&)> on_transition{};
};

/// How long before the end of a term, or of a lease, whoever needs `stop_grace` to stop is told to
/// when no renewal gets through: a quarter of it more (at most 250 ms), since who tells may itself
/// get to run late on a busy machine; less than half of the ttl.
constexpr milliseconds stop_notice(milliseconds stop_grace, milliseconds ttl) {
  auto const most = (ttl - milliseconds{1}) / 2;
  if (stop_grace >= most) return most;
  return std::min(stop_grace + std::min(milliseconds{250}, stop_grace / 4), most);
}

/// One candidate. Move-only; all members may be called from any thread, not concurrently with a
/// move or the destructor.
///
/// Between the call of start_work and the return of both services nothing is given back and no
/// further term is asked for: in one process the works of two terms never overlap. Work that does
/// not stop in `stop_grace` is told as `overdue` then, at the end of its term at the latest; from
/// then on another may lead. When the store itself says that the term is gone, another may at once.
///
/// A candidate that was moved from stands for nothing: it is idle, resign() does nothing, and what
/// needs a candidate throws herdlock::error (errc::not_supported).
class [[nodiscard]] election {
 public:
  /// Throws herdlock::error for options that make no sense (errc::invalid_ttl, invalid_owner).
  election(store where, resource name, election_services services, election_options options = {});
  /// Throws errc::invalid_name, too.
  election(store where, std::string_view name, election_services services,
           election_options options = {})
      : election(std::move(where), resource(name), std::move(services), std::move(options)) {}
  election(election&&) noexcept;
  election& operator=(election&&) noexcept;
  /// Resigns in the background. The objects that the services and on_transition use must live until
  /// the campaign has completed.
  ~election();

  resource const& name() const;
  std::string const& candidate() const;
  /// As of the last transition.
  election_state state() const;

  /// Stands, leads, rests and stands again, until resign(): then completes with success, after the
  /// work has stopped and the term is given back, so that the next is woken at once. Completes with
  /// the store's error when it would not answer differently later (errc::access_denied, …).
  /// One at a time: a second gets errc::overloaded. `void(failure)`.
  ///
  /// Cancellation (every type) of this campaign, not of one before, resigns; it then completes with
  /// errc::canceled.
  template <class Token = boost::asio::deferred_t>
  auto async_campaign(Token&& token = {}) {
    return detail::initiate<void>(
        executor(), [core = core_](handler<void> h) { start_campaign(core, std::move(h)); },
        std::forward<Token>(token));
  }

  /// Blocking; throws herdlock::error. Not on the store's own thread.
  void campaign();
  /// The same, and a stop resigns: it returns as after resign(), at once and without asking the
  /// store when the stop was there first. For a thread of its own:
  ///
  ///     std::jthread stands([&](std::stop_token stop) { job.campaign(stop); });
  void campaign(std::stop_token stop);

  /// Asks the candidate to stop the work, give the term back and end the campaign; does not wait.
  /// It counts for a campaign that has begun. One that another thread is about to begin goes on:
  /// close() and campaign(std::stop_token) are for that.
  void resign();

  /// Ends the candidate for good, also before it has ever stood: resigns, and any campaign that
  /// comes later completes with errc::canceled. Does not wait; async_resign() behind
  /// it does.
  void close();

  /// As resign(), and completes when the campaign has ended, at once when there is none.
  /// `void(failure)`. Cancellation ends the wait (errc::canceled), not the resignation.
  template <class Token = boost::asio::deferred_t>
  auto async_resign(Token&& token = {}) {
    return detail::initiate<void>(
        executor(), [core = core_](handler<void> h) { start_resign(core, std::move(h)); },
        std::forward<Token>(token));
  }

 private:
  boost::asio::any_io_executor executor() const;
  detail::election_core& core() const;
  bool is_elsewhere() const;
  static void start_campaign(std::shared_ptr<detail::election_core> const&, handler<void>);
  static void start_resign(std::shared_ptr<detail::election_core> const&, handler<void>);

  std::optional<store> where_;
  std::shared_ptr<detail::election_core> core_;
};

/// The leader, as the store tells it.
struct leadership {
  std::string leader;       ///< the candidate's id, or the label of whoever else holds the lease
  fencing_token term;       ///< over Redlock not exact while votes come and go
  milliseconds remaining;   ///< until the term ends if nobody renews it
  std::size_t waiting = 0;  ///< candidates in the store's queue
  /// When the term was first seen; nothing when it was there already at the first look.
  std::optional<clock::time_point> since{};
};

struct observe_options {
  /// How often to look; sooner when the term could be over by then. 10 ms at least.
  milliseconds look{1'000};
};

/// Told at the first look and at each change of the leader or the term: nothing when nobody leads,
/// and a failure when the store stops answering (once, until it answers again).
using leadership_callback = std::function<void(result<std::optional<leadership>> const&)>;

/// Watches until it is destroyed, which waits for a callback that is running in another thread.
class [[nodiscard]] observation {
 public:
  observation(observation&&) noexcept;
  observation& operator=(observation&&) noexcept;
  ~observation();

 private:
  friend observation observe(store where, resource name, leadership_callback on_change,
                             observe_options options);
  explicit observation(std::shared_ptr<detail::observation_core> core);
  std::shared_ptr<detail::observation_core> core_;
};

/// Watches an election, standing in it or not. The callback comes on the store's executor and must
/// not block. A lease that was left as done (lease::leave) has no leader. For a single look:
/// lock::inspect.
observation observe(store where, resource name, leadership_callback on_change,
                    observe_options options = {});
/// Throws herdlock::error for an invalid name.
inline observation observe(store where, std::string_view name, leadership_callback on_change,
                           observe_options options = {}) {
  return observe(std::move(where), resource(name), std::move(on_change), options);
}

namespace detail {
void start_observe(store const& where, resource name, std::optional<leadership> known,
                   observe_options options, handler<std::optional<leadership>> done);
}

/// Waits until the leader or the term is another than `known`: `void(failure,
/// std::optional<leadership>)`, nothing when nobody leads. At once when it is so already; so a loop
/// that hands back what it was told sees who leads now, and each change that lasts for a look:
///
///     std::optional<leadership> seen;
///     for (;;) seen = co_await async_observe(store, "nightly", seen);
///
/// Ends with the store's failure when it cannot answer. Every type of cancellation ends the wait
/// (errc::canceled). Tokens and executors as with lock::async_acquire.
template <class Token = boost::asio::deferred_t>
auto async_observe(store where, resource name, std::optional<leadership> known,
                   observe_options options = {}, Token&& token = {}) {
  auto executor = where.get_executor();
  return detail::initiate<std::optional<leadership>>(
      std::move(executor),
      [where = std::move(where), name = std::move(name), known = std::move(known),
       options](handler<std::optional<leadership>> h) mutable {
        detail::start_observe(where, std::move(name), std::move(known), options, std::move(h));
      },
      std::forward<Token>(token));
}
/// Throws herdlock::error for an invalid name.
template <class Token = boost::asio::deferred_t>
auto async_observe(store where, std::string_view name, std::optional<leadership> known,
                   observe_options options = {}, Token&& token = {}) {
  return async_observe(std::move(where), resource(name), std::move(known), options,
                       std::forward<Token>(token));
}

}  // namespace v0
}  // namespace herdlock
