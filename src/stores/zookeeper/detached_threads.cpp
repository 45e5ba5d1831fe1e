#include "stores/zookeeper/detached_threads.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "types/quiet_thread.hpp"

namespace herdlock::zookeeper {
namespace {

constexpr int max_left_behind = 32;
std::atomic<int> left_behind = 0;

}  // namespace

// Owned by every thread, too: the last of them may end after the session.
struct detached_threads::state {
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  int left = 0;  ///< of those, counted in `left_behind`

  void end() {
    std::lock_guard const alone(mutex);
    --running;
    changed.notify_all();
    if (left == 0) return;
    --left;
    --left_behind;
  }
};

bool detached_threads::crowded() { return left_behind >= max_left_behind; }

detached_threads::detached_threads() : state_(std::make_shared<state>()) {}

bool detached_threads::run(std::function<void()> job) {
  {
    std::lock_guard const alone(state_->mutex);
    ++state_->running;
  }
  bool const started =
      detail::start_loose_thread("herdlock-zk", [shared = state_, job = std::move(job)]() mutable {
        job();
        job = nullptr;  // what it kept may take a while to go, too
        shared->end();
      });
  if (!started) state_->end();
  return started;
}

void detached_threads::wait_until(clock::time_point deadline) {
  std::unique_lock alone(state_->mutex);
  if (state_->changed.wait_until(alone, deadline, [&] { return state_->running == 0; })) return;
  left_behind += state_->running - state_->left;
  state_->left = state_->running;
}

}  // namespace herdlock::zookeeper
