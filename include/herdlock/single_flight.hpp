// One running operation per key, in one process: whoever asks for the same key meanwhile shares its
// value or its exception.
//
//     herdlock::single_flight<product> loads(pool.get_executor());
//     product p = co_await loads.async_run("product:42", [&] { return load_product(42); });
//     product q = loads.run("product:42", [&] { return load_product_blocking(42); });
//
// Its completions are `void(std::exception_ptr, T)`, unlike all others here: what fails is the
// caller's own code, whose exceptions keep their type.
//
// single_flight keeps no results: once the operation has ended, the next caller starts a new one.
// (For that there is herdlock::cache.)
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/system_executor.hpp>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/detail/single_flight_landing.hpp>
#include <herdlock/detail/stoppable_coroutine.hpp>

namespace herdlock {
inline namespace v0 {

/// The fate of an operation that nobody waits for any more, as all its callers cancelled.
using detail::abandoned_flight;

struct single_flight_options {
  /// Flights at a time; a caller that would start one more gets errc::overloaded.
  std::size_t max_flights = 65'536;
  /// Callers waiting at a time, over all keys; the next one gets errc::overloaded.
  std::size_t max_callers = 1'000'000;
  /// is_stopped: the std::stop_token that it was given is triggered, it is cancelled (terminal),
  /// and newcomers start a new flight. goes_on: it runs to its end, newcomers may still join it,
  /// and the call that brought it leaves as all others do: for operations that own what they use.
  abandoned_flight abandoned = abandoned_flight::is_stopped;
};

/// Runs one operation per key at a time and shares its outcome. Thread-safe: all members may be
/// called from any thread. The object may be destroyed while flights are running; their callers
/// still get the outcome.
///
/// T is copied for each caller, on that caller's executor or thread (take a
/// std::shared_ptr<X const> for large things), and must be default-constructible. An exception is
/// shared, not copied: rethrown, it is the same object for all callers, so don't modify it.
///
/// Blocking and asynchronous callers of a key share flights. A blocking caller must not be on the
/// only thread of the executor on which the flight that it joins is running, and an operation must
/// not ask for its own key: both wait for ever (the former: until its deadline).
template <class T>
class single_flight {
  static_assert(std::copy_constructible<T> && std::default_initializable<T>);

 public:
  using value_type = T;

  /// Operations of async_run are run on this executor, not on that of the caller who happened to
  /// be first and may be gone.
  explicit single_flight(boost::asio::any_io_executor executor = boost::asio::system_executor(),
                         single_flight_options options = {})
      : executor_(std::move(executor)),
        core_(std::make_shared<detail::single_flight_core>(
            detail::single_flight_bounds{options.max_flights, options.max_callers},
            options.abandoned)) {}
  /// The copies share their flights. A move is a copy.
  single_flight(single_flight const&) = default;
  single_flight& operator=(single_flight const&) = default;
  ~single_flight() = default;

  /// Completes with the outcome of the key's flight, started now with `operation` if there is none:
  /// `void(std::exception_ptr, T)`, on the handler's executor, never from inside this call.
  ///
  /// `operation` is a movable callable `boost::asio::awaitable<T>()` or
  /// `boost::asio::awaitable<T>(std::stop_token)`; it is kept until what it returned has ended, and
  /// runs on the flight's executor, possibly at once if this call is made there.
  ///
  /// Errors of this function itself are exceptions of type herdlock::error: errc::overloaded (a
  /// bound of single_flight_options); errc::canceled. Each caller gets a copy of the value; what
  /// copying it throws is that caller's error.
  ///
  /// Cancellation, of every type, makes a caller complete with errc::canceled (or with the outcome,
  /// when the two cross). The caller who brought the operation that runs completes when that has
  /// ended, since it may use what the call was given: with its value if there is one. The operation
  /// goes on while others wait for it; what becomes of it without them says
  /// single_flight_options::abandoned. A flight whose executor is shut down answers errc::canceled.
  /// A caller that does not wait for the completion (asio::detached, a future that is dropped) or
  /// destroys the executor must see to it that the operation owns what it uses.
  template <class Operation, class Token = boost::asio::deferred_t>
  auto async_run(std::string_view key, Operation operation, Token&& token = {}) {
    return detail::initiate_as<void(std::exception_ptr, T)>(
        executor_, start_of<T>(key, std::move(operation)), std::forward<Token>(token));
  }

  /// The same with a flight_answer<T>, which says how many calls the value went to, and whose
  /// operation made it: `void(std::exception_ptr, flight_answer<T>)`. Calls are counted when the
  /// operation has ended; those that have left are not. An exception says nothing of others.
  template <class Operation, class Token = boost::asio::deferred_t>
  auto async_run_and_tell(std::string_view key, Operation operation, Token&& token = {}) {
    return detail::initiate_as<void(std::exception_ptr, flight_answer<T>)>(
        executor_, start_of<flight_answer<T>>(key, std::move(operation)),
        std::forward<Token>(token));
  }

  /// The outcome of the key's flight. If there is none, calls `operation` (`T()`) on this thread;
  /// else waits. Rethrows the operation's exception; throws herdlock::error (errc::overloaded).
  template <class Operation>
  T run(std::string_view key, Operation&& operation) {
    return run_by<T>(key, std::nullopt, operation);
  }

  /// The same; see async_run_and_tell().
  template <class Operation>
  flight_answer<T> run_and_tell(std::string_view key, Operation&& operation) {
    return run_by<flight_answer<T>>(key, std::nullopt, operation);
  }

  /// The same as run(), but a caller that waits for another's operation gives up at the deadline:
  /// herdlock::error (errc::timed_out). The deadline does not interrupt an `operation` that runs
  /// on this thread.
  template <class Operation>
  T run_until(std::string_view key, clock::time_point deadline, Operation&& operation) {
    return run_by<T>(key, deadline, operation);
  }

  /// From now on the running flight of this key takes no more callers; it answers those it has,
  /// and the next caller starts a new one. Call it when what the flight is loading has changed.
  /// False when none was running.
  bool forget(std::string_view key) { return core_->forget(key); }

  /// How many callers wait for the key's running flight at this moment, its leader included.
  std::size_t waiting(std::string_view key) const { return core_->waiting(key); }

  boost::asio::any_io_executor get_executor() const noexcept { return executor_; }

 private:
  using core = detail::single_flight_core;
  using outcome = detail::flight_outcome<T>;
  using role = detail::flight_entry::role;

  template <class Answer, class Operation>
  auto start_of(std::string_view key, Operation operation) {
    return [core = core_, executor = executor_, key = std::string(key),
            operation = std::move(operation)](auto&& h) mutable {
      using joiner_type = detail::handler_joiner<T, Answer>;
      using erased = typename joiner_type::erased_handler;
      auto joiner = std::make_shared<joiner_type>(
          detail::locate<erased>(std::forward<decltype(h)>(h), executor));
      start_async(core, executor, key, std::move(joiner), std::move(operation));
    };
  }

  template <class Joiner, class Operation>
  static void start_async(std::shared_ptr<core> const& flights,
                          boost::asio::any_io_executor const& executor, std::string const& key,
                          std::shared_ptr<Joiner> joiner, Operation operation) {
    auto slot = boost::asio::get_associated_cancellation_slot(joiner->waiting_handler());
    if (slot.is_connected()) {
      // Weak: a slot may keep its handler long after the operation.
      slot.assign(
          [flights, weak = std::weak_ptr(joiner), key](boost::asio::cancellation_type type) {
            auto caller = weak.lock();
            if (!caller || type == boost::asio::cancellation_type::none) return;
            auto const why =
                make_failure(errc::canceled, "waiting for key '" + key + "' was cancelled");
            if (flights->leave(*caller, why)) caller->settle(detail::failed_outcome<T>(why));
          });
    }
    auto const entry = flights->join(key, joiner);
    if (entry.what == role::refused) joiner->settle(detail::failed_outcome<T>(entry.why));
    if (entry.what != role::leads) return;
    auto end = std::make_shared<detail::landing<T>>(flights, entry.flight);
    auto body = [end = std::move(end), operation = std::optional(std::move(operation)),
                 stop = entry.abandoned]() mutable {
      return detail::fly<T, Operation>(std::move(end), std::move(operation), std::move(stop));
    };
    detail::start_coroutine(executor, entry.abandoned, std::move(body), [](std::exception_ptr) {});
  }

  template <class Answer, class Operation>
  Answer run_by(std::string_view key, std::optional<clock::time_point> deadline,
                Operation& operation) {
    auto joiner = std::make_shared<detail::thread_joiner>();
    auto const entry = core_->join(key, joiner);
    if (entry.what == role::refused) throw error(entry.why);
    std::shared_ptr<outcome const> shared;
    if (entry.what == role::leads) {
      shared = lead(entry.flight, operation);
    } else {
      shared = std::static_pointer_cast<outcome const>(joiner->wait(deadline));
      // An outcome that crosses the deadline is taken.
      if (!shared && !core_->leave(*joiner, {})) {
        shared = std::static_pointer_cast<outcome const>(joiner->wait(std::nullopt));
      }
    }
    if (!shared) {
      throw error(make_failure(errc::timed_out, "waiting for key '" + std::string(key) +
                                                    "': its operation did not end in time"));
    }
    if (shared->error) std::rethrow_exception(shared->error);
    bool const led = entry.what == role::leads;
    return detail::answer_of<Answer>(*shared->value, joiner->callers(),
                                     led ? flight_part::ran : flight_part::joined);
  }

  template <class Operation>
  std::shared_ptr<outcome const> lead(std::uint64_t flight, Operation& operation) {
    detail::landing<T> end(core_, flight);
    auto made = std::make_shared<outcome>();
    try {
      made->value.emplace(operation());
    } catch (...) {
      made->error = std::current_exception();
      if (!made->error) throw;  // no exception of C++: the thread is being unwound
    }
    end.land(made);
    return made;
  }

  boost::asio::any_io_executor executor_;
  std::shared_ptr<core> core_;
};

}  // namespace v0
}  // namespace herdlock
