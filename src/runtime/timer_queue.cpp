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
  remove(entry);
  entry.due = at;
  schedule_.insert(entry);
  if (timer_) timer_->arm_no_later_than(at);
}

void timer_queue::remove(timed& entry) { entry.unlink(); }

void timer_queue::close() {
  schedule_.clear();
  if (timer_) timer_->close();
  timer_.reset();
}

// Whatever comes of the one that is called: the others are called, in the next event at the latest.
void timer_queue::run_due() {
  try {
    call_due();
  } catch (...) {
    rearm();
    throw;
  }
  rearm();
}

void timer_queue::rearm() {
  if (timer_ && !schedule_.empty()) timer_->arm_no_later_than(schedule_.begin()->due);
}

void timer_queue::call_due() {
  auto const now = clock::now();
  while (!schedule_.empty() && schedule_.begin()->due <= now) {
    timed& entry = *schedule_.begin();
    remove(entry);
    entry.on_due(now);
  }
}

}  // namespace herdlock::runtime
