#include "cache/engine/loader_pool.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::runtime {

void loader_pool::run(std::function<void()> work) {
  std::lock_guard const lock(state_->mutex);
  if (state_->closed) return;
  state_->work.push_back(std::move(work));
  // As many idle threads as pieces of work: each will take one.
  if (state_->idle >= state_->work.size() || state_->threads.size() >= state_->most) {
    state_->wake.notify_one();
    return;
  }
  try {
    add_thread(state_);
  } catch (...) {  // no thread to be had (a limit of the system): those that live take it in turn
    if (!state_->threads.empty()) return state_->wake.notify_one();
    state_->work.pop_back();
    throw;
  }
}

// REQUIRES: its mutex is held.
void loader_pool::add_thread(std::shared_ptr<state> const& shared) {
  shared->threads.reserve(shared->threads.size() + 1);
  shared->threads.push_back(shared->start([shared] { serve(shared); }));
}

// The end of a thread that its work ends (pthread_exit): nobody joins it, and another thread takes
// up the work that waits.
struct loader_pool::serving {
  std::shared_ptr<state> const& of;

  ~serving() {
    std::lock_guard const lock(of->mutex);
    auto& all = of->threads;
    auto const is_this = [](std::thread const& one) {
      return one.get_id() == std::this_thread::get_id();
    };
    auto const at = std::find_if(all.begin(), all.end(), is_this);
    if (of->closed || at == all.end()) return;
    at->detach();
    all.erase(at);
    if (of->work.empty()) return;
    try {
      add_thread(of);
    } catch (...) {  // none to be had: the next piece of work tries again
    }
  }
};

void loader_pool::serve(std::shared_ptr<state> const& shared) {
  serving const while_it_lives{shared};
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
  return std::exchange(state_->threads, {});
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
