#include "stores/common/worker_threads.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace herdlock::stores {

worker_threads::~worker_threads() {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard alone(mutex_);
    closing_ = true;
    dropped.swap(jobs_);
  }
  changed_.notify_all();
  for (auto& each : threads_) each.join();
}

void worker_threads::add(std::function<void()> job) {
  {
    std::lock_guard alone(mutex_);
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_ && threads_.size() < most_) start_thread();
  }
  changed_.notify_one();
}

void worker_threads::start_thread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  threads_.emplace_back([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
