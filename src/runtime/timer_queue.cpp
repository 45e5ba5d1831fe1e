#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

timer_queue::timer_queue(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

void timer_queue::start() {
  auto on_fire = [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->run_due();
  };
  timer_ = std::make_shared<boot_timer>(executor_, std::move(on_fire));
}

void timer_queue::schedule(timed& entry, clock::time_point at) {
  schedule_.add(entry, at);
  if (timer_) timer_->arm_no_later_than(at);
}

void timer_queue::close() {
  schedule_.clear();
  if (timer_) timer_->close();
  timer_.reset();
}

// An entry that throws keeps nobody from being called: the others are, in the next event at the
// latest.
void timer_queue::run_due() {
  try {
    schedule_.run(clock::now());
  } catch (...) {
    rearm();
    throw;
  }
  rearm();
}

void timer_queue::rearm() {
  if (timer_ && !schedule_.empty()) timer_->arm_no_later_than(schedule_.next());
}

}  // namespace herdlock::runtime
