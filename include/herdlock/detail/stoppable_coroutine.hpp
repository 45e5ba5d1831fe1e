// A coroutine that is cancelled when somebody asks it to stop.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// Cancels a coroutine on its executor when a stop is asked for, from any thread.
class stop_emitter : public std::enable_shared_from_this<stop_emitter> {
 public:
  explicit stop_emitter(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
  stop_emitter(stop_emitter const&) = delete;
  stop_emitter& operator=(stop_emitter const&) = delete;
  ~stop_emitter() = default;

  boost::asio::cancellation_slot slot() { return signal_.slot(); }
  void watch(std::stop_token token);

 private:
  boost::asio::any_io_executor executor_;
  boost::asio::cancellation_signal signal_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

/// `body()` gives an awaitable, and has what that uses; `end(exception_ptr, value…)` is called when
/// it has ended. Both are kept until then. It runs in a strand: the cancellation comes from
/// elsewhere, also where many threads run the executor.
template <class Body, class End>
void start_coroutine(boost::asio::any_io_executor const& executor, std::stop_token const& stop,
                     Body body, End end) {
  auto const strand = boost::asio::make_strand(executor);
  auto emitter = std::make_shared<stop_emitter>(strand);
  auto on_end = [emitter, end = std::move(end)](std::exception_ptr thrown, auto... made) mutable {
    end(thrown, std::move(made)...);
  };
  auto const slot = emitter->slot();
  boost::asio::co_spawn(strand, std::move(body),
                        boost::asio::bind_cancellation_slot(slot, std::move(on_end)));
  emitter->watch(stop);
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
