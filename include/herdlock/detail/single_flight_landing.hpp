// The typed side of single_flight: outcomes, handlers that wait for them, and the flight itself.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <herdlock/detail/async.hpp>
#include <herdlock/detail/keyed_mutex_located.hpp>
#include <herdlock/detail/single_flight_core.hpp>

namespace herdlock {
inline namespace v0 {

/// The part that a call had in a flight of single_flight.
enum class flight_part {
  joined,  ///< another call's operation made the value
  ran,     ///< this call's own
};

/// The answer of single_flight::run_and_tell().
template <class T>
struct flight_answer {
  T value{};
  /// The calls that the value went to, this one included.
  std::size_t callers = 1;
  flight_part part = flight_part::joined;

  /// Whether others have the value, too. It says nothing of who made it: that is `part`.
  bool is_shared() const noexcept { return callers > 1; }
};

namespace detail {

template <class T>
struct flight_outcome {
  std::exception_ptr error;
  std::optional<T> value;  // has one unless there is an error
};

template <class T>
std::shared_ptr<flight_outcome<T> const> failed_outcome(failure why) {
  auto outcome = std::make_shared<flight_outcome<T>>();
  outcome->error = std::make_exception_ptr(error(std::move(why)));
  return outcome;
}

/// The answer of a call: the value, or flight_answer<T>.
template <class Answer, class T>
Answer answer_of(T const& value, std::size_t callers, flight_part part) {
  if constexpr (std::same_as<Answer, T>) {
    return value;
  } else {
    return Answer{value, callers, part};
  }
}

// A handler that waits. Its copy of the value is made where the handler runs. `Answer` is T or
// flight_answer<T>.
template <class T, class Answer = T>
class handler_joiner final : public flight_joiner {
 public:
  using erased_handler = boost::asio::any_completion_handler<void(std::exception_ptr, Answer)>;

  explicit handler_joiner(located<erased_handler> done)
      : executor_(boost::asio::prefer(std::move(done.executor),
                                      boost::asio::execution::outstanding_work.tracked)),
        done_(std::move(done.done)) {}

  erased_handler const& waiting_handler() const { return done_; }

  void settle(erased_outcome outcome) override {
    auto typed = std::static_pointer_cast<flight_outcome<T> const>(std::move(outcome));
    auto executor = std::exchange(executor_, {});
    auto const part = leads() ? flight_part::ran : flight_part::joined;
    boost::asio::post(executor, [done = std::move(done_), typed = std::move(typed),
                                 callers = callers(), part]() mutable {
      if (typed->error) return std::move(done)(typed->error, Answer());
      std::optional<Answer> mine;
      try {
        mine.emplace(answer_of<Answer>(*typed->value, callers, part));
      } catch (...) {
        return std::move(done)(std::current_exception(), Answer());
      }
      std::move(done)(nullptr, *std::move(mine));
    });
  }

  void settle_ended(erased_outcome outcome, failure const& why) override {
    bool const has_value = !std::static_pointer_cast<flight_outcome<T> const>(outcome)->error;
    settle(has_value ? std::move(outcome) : erased_outcome(failed_outcome<T>(why)));
  }

 private:
  boost::asio::any_io_executor executor_;
  erased_handler done_;
};

// The leader's duty to end its flight. A flight whose coroutine is destroyed before it ended (its
// execution context was shut down) answers errc::canceled, so that nobody waits for ever.
template <class T>
class landing {
 public:
  landing(std::shared_ptr<single_flight_core> core, std::uint64_t flight)
      : core_(std::move(core)), flight_(flight) {}
  landing(landing const&) = delete;
  landing& operator=(landing const&) = delete;
  ~landing() {
    if (landed_) return;
    land(failed_outcome<T>(make_failure(
        errc::canceled, "single_flight: the operation was destroyed before it ended")));
  }

  void land(std::shared_ptr<flight_outcome<T> const> outcome) {
    landed_ = true;
    core_->finish(flight_, std::move(outcome));
  }

 private:
  std::shared_ptr<single_flight_core> core_;
  std::uint64_t flight_;
  bool landed_ = false;
};

template <class T, class Operation>
boost::asio::awaitable<T> start_operation(Operation& operation, std::stop_token const& abandoned) {
  if constexpr (std::is_invocable_v<Operation&, std::stop_token>) {
    return operation(abandoned);
  } else {
    return operation();
  }
}

// The operation lives in this frame for as long as the coroutine that it returned, and ends before
// the call is answered.
template <class T, class Operation>
boost::asio::awaitable<void> fly(std::shared_ptr<landing<T>> end,
                                 std::optional<Operation> operation, std::stop_token abandoned) {
  auto outcome = std::make_shared<flight_outcome<T>>();
  try {
    boost::asio::awaitable<T> running = start_operation<T>(*operation, abandoned);
    outcome->value.emplace(co_await std::move(running));
  } catch (...) {
    outcome->error = std::current_exception();
  }
  operation.reset();
  end->land(std::move(outcome));
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
