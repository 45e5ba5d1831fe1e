#include "cache/engine/deliveries.hpp"

#include <boost/asio/post.hpp>

namespace herdlock::runtime {

void deliveries::post_delivery() {
  if (std::exchange(posted_, true)) return;
  asio::post(executor_, [self = shared_from_this()] { self->deliver(); });
}

// A handler that throws leaves the rest for the next event. One that runs the executor itself finds
// the others before it comes back.
void deliveries::deliver() {
  posted_ = false;
  while (next_ < waiting_.size()) {
    auto [caller, answer] = std::move(waiting_[next_++]);
    if (next_ == waiting_.size()) {
      waiting_.clear();
      next_ = 0;
    } else {
      post_delivery();
    }
    caller->complete(std::move(answer));
  }
}

}  // namespace herdlock::runtime
