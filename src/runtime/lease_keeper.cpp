#include "runtime/lease_keeper.hpp"

namespace herdlock::runtime {

lease_keeper::lease_keeper(boost::asio::any_io_executor executor)
    : executor_(std::move(executor)) {}

void lease_keeper::start() {
  auto on_fire = [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->run_due();
  };
  timer_ = std::make_shared<boot_timer>(executor_, std::move(on_fire));
}

void lease_keeper::schedule(kept& entry, clock::time_point at) {
  remove(entry);
  entry.due = at;
  schedule_.insert(entry);
  if (timer_) timer_->arm_no_later_than(at);
}

void lease_keeper::remove(kept& entry) { entry.unlink(); }

void lease_keeper::close() {
  schedule_.clear();
  if (timer_) timer_->close();
  timer_.reset();
}

// Whatever comes of the one that is called: the others are called, in the next event at the latest.
void lease_keeper::run_due() {
  try {
    call_due();
  } catch (...) {
    rearm();
    throw;
  }
  rearm();
}

void lease_keeper::rearm() {
  if (timer_ && !schedule_.empty()) timer_->arm_no_later_than(schedule_.begin()->due);
}

void lease_keeper::call_due() {
  auto const now = clock::now();
  while (!schedule_.empty() && schedule_.begin()->due <= now) {
    kept& entry = *schedule_.begin();
    remove(entry);
    entry.on_due(now);
  }
}

}  // namespace herdlock::runtime
