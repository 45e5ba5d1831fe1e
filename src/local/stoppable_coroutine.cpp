#include <boost/asio/post.hpp>
#include <herdlock/detail/async.hpp>
#include <herdlock/detail/stoppable_coroutine.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

void stop_emitter::watch(std::stop_token token) {
  auto emit = [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    asio::post(self->executor_, [self] { self->signal_.emit(asio::cancellation_type::terminal); });
  };
  on_stop_.emplace(std::move(token), std::move(emit));
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
