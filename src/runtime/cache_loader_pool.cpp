#include "runtime/cache_loader_pool.hpp"

#include <utility>

namespace herdlock::runtime {

void loader_pool::run(std::function<void()> work) {
  std::lock_guard const lock(state_->mutex);
  if (state_->closed) return;
  state_->work.push_back(std::move(work));
  // As many idle threads as pieces of work: each will take one.
  if (state_->idle >= state_->work.size() || threads_.size() >= most_) {
    state_->wake.notify_one();
    return;
  }
  try {
    threads_.push_back(start_([shared = state_] { serve(shared); }));
  } catch (...) {  // no thread to be had (a limit of the system): those that live take it in turn
    if (!threads_.empty()) return state_->wake.notify_one();
    state_->work.pop_back();
    throw;
  }
}

void loader_pool::serve(std::shared_ptr<state> const& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    while (shared->work.empty() && !shared->closed) {
      ++shared->idle;
      shared->wake.wait(lock);
      --shared->idle;
    }
    if (shared->closed) return;
    auto work = std::move(shared->work.front());
    shared->work.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it captured goes before the lock is taken again
    lock.lock();
  }
}

std::vector<std::thread> loader_pool::shut() {
  std::deque<std::function<void()>> dropped;
  std::lock_guard const lock(state_->mutex);
  state_->closed = true;
  dropped.swap(state_->work);
  state_->wake.notify_all();
  return std::exchange(threads_, {});
}

void loader_pool::close() {
  for (auto& thread : shut()) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

void loader_pool::abandon() {
  for (auto& thread : shut()) thread.detach();
}

}  // namespace herdlock::runtime
