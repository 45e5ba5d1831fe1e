// The waiters for one event of an object: a loss, a renewal, the end of a campaign.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <herdlock/detail/async.hpp>

#include "runtime/cancelled_on.hpp"

namespace herdlock::runtime {

/// Handlers of one event, each of which can be cancelled. All members on the executor, but
/// next_id().
template <class T>
class event_waiters {
 public:
  static constexpr std::size_t most = 1000;

  /// `event` is for the message that refuses more than `most` waiters.
  event_waiters(asio::any_io_executor executor, char const* event)
      : executor_(std::move(executor)), event_(event) {}

  /// From any thread.
  std::uint64_t next_id() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

  bool empty() const { return waiting_.empty(); }

  /// False, and answered with errc::overloaded, when `most` wait already.
  bool add(std::uint64_t id, handler<T> done) {
    if (waiting_.size() >= most) {
      auto why = make_failure(errc::overloaded, std::string("too many wait for ") + event_);
      detail::post_result<T>(executor_, std::move(done), std::move(why));
      return false;
    }
    waiting_.push_back({id, std::move(done)});
    return true;
  }

  void cancel(std::uint64_t id) {
    auto const at = std::find_if(waiting_.begin(), waiting_.end(),
                                 [id](auto const& one) { return one.id == id; });
    if (at == waiting_.end()) return;
    auto done = std::move(at->done);
    waiting_.erase(at);
    detail::dispatch_result<T>(executor_, std::move(done),
                               make_failure(errc::canceled, "the wait was cancelled"));
  }

  void answer(result<T> const& outcome) {
    for (auto& one : std::exchange(waiting_, {})) {
      detail::post_result<T>(executor_, std::move(one.done), outcome);
    }
  }

 private:
  struct waiter {
    std::uint64_t id;
    handler<T> done;
  };

  asio::any_io_executor const executor_;
  char const* const event_;
  std::vector<waiter> waiting_;
  std::atomic<std::uint64_t> next_id_{0};
};

enum class entering {
  later,
  at_once,  ///< within the call, on the executor's own thread
};

/// From any thread: brings a caller of `object` into one of its lists, by `add(object, id,
/// handler)` on the executor. The slot is filled in the caller's own call: a cancellation that
/// comes before the executor's turn would find it empty and be lost. Cancelling posts, so it
/// arrives behind the adding.
template <class T, class Object, class Add>
void enter_waiters(std::shared_ptr<Object> object, event_waiters<T>& list, handler<T> done, Add add,
                   entering when = entering::later) {
  auto const id = list.next_id();
  on_cancellation(asio::get_associated_cancellation_slot(done), std::weak_ptr(object),
                  [id, &list](Object&, auto) { list.cancel(id); });
  auto const& executor = object->executor();
  auto enter = [object = std::move(object), id, add, done = std::move(done)]() mutable {
    add(*object, id, std::move(done));
  };
  if (when == entering::at_once) return asio::dispatch(executor, std::move(enter));
  asio::post(executor, std::move(enter));
}

}  // namespace herdlock::runtime
