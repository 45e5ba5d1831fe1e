#include "stores/common/worker_threads.hpp"

#include <system_error>
#include <utility>

#include "types/quiet_thread.hpp"

namespace herdlock::stores {

void worker_threads::close() {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard alone(mutex_);
    closing_ = true;
    dropped.swap(jobs_);
  }
  changed_.notify_all();
  for (auto& each : threads_) each.join();
  threads_.clear();
}

bool worker_threads::add(std::function<void()> job) {
  bool served = true;
  {
    std::lock_guard alone(mutex_);
    if (closing_) return false;
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_ && threads_.size() < most_) start_thread();
    served = !threads_.empty();
  }
  changed_.notify_one();
  return served;
}

// When there is none to be had, the jobs wait for the threads that there are.
void worker_threads::start_thread() {
  try {
    threads_.push_back(detail::start_quiet_thread(name_, [this] { run(); }));
  } catch (std::system_error const&) {
  }
}

void worker_threads::run() {
  std::unique_lock alone(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(alone, [&] { return closing_ || !jobs_.empty(); });
    --idle_;
    if (closing_) return;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    alone.unlock();
    job();
    job = nullptr;  // what it kept may take a while to go, too
    alone.lock();
  }
}

}  // namespace herdlock::stores
