// How a blocking call waits that brings a loader: the loader runs on the waiting thread, inside the
// call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <herdlock/detail/blocking.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// The thread of one blocking call. All members are for any thread but those that wait.
class calling_thread {
 public:
  calling_thread() = default;
  calling_thread(calling_thread const&) = delete;
  calling_thread& operator=(calling_thread const&) = delete;

  /// The waiting thread runs the work. False, and it never will, when it does not wait any more:
  /// from here on the call does not end before the work has.
  bool run(std::function<void()> work);
  /// The call is answered: `store` is called, unless nobody waits any more.
  void answer(std::function<void()> const& store);
  /// There will be no answer.
  void forget() {
    answer([] {});
  }

  /// On the waiting thread: runs what comes until the call is answered; false after the limit. An
  /// end of the thread in the work passes through, and nobody waits any more.
  bool serve(std::optional<milliseconds> limit);
  /// On the waiting thread: it does not wait any more. False when it is answered.
  bool leave();

 private:
  void abandon();

  enum class stage { waiting, answered, left };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;    // mutex_
  stage stage_ = stage::waiting;  // mutex_
};

template <class T>
struct loading_call {
  calling_thread thread;
  std::optional<result<T>> answer;
  boost::asio::cancellation_signal give_up;
};

/// Takes the answer to the call; dropped without one it says that there will be none.
template <class T>
class answer_to_call {
 public:
  explicit answer_to_call(std::shared_ptr<loading_call<T>> call) : call_(std::move(call)) {}
  answer_to_call(answer_to_call&&) noexcept = default;
  answer_to_call& operator=(answer_to_call&&) = delete;
  ~answer_to_call() {
    if (call_) call_->thread.forget();
  }

  void operator()(result<T>&& r) {
    call_->thread.answer([&] {
      try {
        call_->answer.emplace(std::move(r));
      } catch (...) {
        call_->answer.emplace(copy_failure());
      }
    });
    call_.reset();
  }

 private:
  std::shared_ptr<loading_call<T>> call_;
};

/// wait_for(), with a thread that runs loaders: `start(handler, thread)`. The thread is good for as
/// long as the handler is.
template <class T, class Start>
result<T> wait_for_load(store_context const& context, Start&& start) {
  blocking_wait const wait(context);
  if (failure why = wait.inherited(); why.code) return why;
  auto const call = std::make_shared<loading_call<T>>();
  auto const slot =
      wait.may_be_given_up() ? call->give_up.slot() : boost::asio::cancellation_slot();
  std::shared_ptr<calling_thread> here(call, &call->thread);
  std::forward<Start>(start)(boost::asio::bind_cancellation_slot(slot, answer_to_call<T>(call)),
                             std::move(here));
  auto const answered_within = [&](milliseconds limit) { return call->thread.serve(limit); };
  while (!wait.until(answered_within)) {
    if (!call->thread.leave()) continue;  // a load has come just now
    wait.cancel_once_run({call, &call->give_up});
    return wait.nobody_runs_it();
  }
  call->thread.serve(std::nullopt);  // where the store's own thread answers there is no limit
  if (!call->answer) return wait.closed();
  return *std::move(call->answer);
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
