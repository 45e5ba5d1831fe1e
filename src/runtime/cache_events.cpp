#include "runtime/cache_events.hpp"

#include <exception>
#include <string>
#include <utility>

namespace herdlock::runtime {

cache_events::cache_events(observer_options options, std::size_t prefix_bytes)
    : prefix_bytes_(prefix_bytes), state_(std::make_shared<state>()) {
  state_->options = std::move(options);
}

void cache_events::tell_own(cache_outcome what, std::string_view key,
                            load_told const& load) noexcept {
  auto& shared = *state_;
  try {
    cache_event event{.what = what,
                      .key = std::string(key),
                      .at = clock::now(),
                      .took = std::chrono::duration_cast<milliseconds>(load.took),
                      .error = std::string(load.error)};
    std::lock_guard const lock(shared.mutex);
    if (shared.closed) return;
    if (shared.waiting.size() >= shared.options.max_waiting) {
      shared.dropped.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    shared.waiting.push_back(std::move(event));
    start(state_);
    shared.wake.notify_one();
  } catch (std::exception const&) {
    shared.dropped.fetch_add(1, std::memory_order_relaxed);
  }
}

std::uint64_t cache_events::dropped() const noexcept {
  return state_->dropped.load(std::memory_order_relaxed);
}

// Without a thread the next event tries again. REQUIRES: the mutex is held.
void cache_events::start(std::shared_ptr<state> const& shared) noexcept {
  if (shared->thread.joinable()) return;
  try {
    shared->thread = detail::start_users_thread("herdlock-events", shared->signals,
                                                [shared] { serve(*shared); });
  } catch (std::exception const&) {
  }
}

// The end of a thread that the observer ends (pthread_exit): nobody joins it.
struct cache_events::serving {
  state& of;

  ~serving() {
    std::lock_guard const lock(of.mutex);
    bool const is_this = of.thread.get_id() == std::this_thread::get_id();
    if (!of.closed && is_this) of.thread.detach();
  }
};

void cache_events::serve(state& shared) {
  serving const while_it_lives{shared};
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.wake.wait(lock, [&] { return shared.closed || !shared.waiting.empty(); });
    if (shared.closed) return;
    auto const event = std::move(shared.waiting.front());
    shared.waiting.pop_front();
    lock.unlock();
    try {
      shared.options.call(event);
    } catch (...) {
      if (!std::current_exception()) throw;  // the thread is being unwound, which must go on
    }
    lock.lock();
  }
}

std::thread cache_events::shut() {
  std::deque<cache_event> dropped;
  std::lock_guard const lock(state_->mutex);
  state_->closed = true;
  dropped.swap(state_->waiting);
  state_->wake.notify_all();
  return std::exchange(state_->thread, std::thread());
}

void cache_events::close() {
  auto thread = shut();
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) return thread.detach();
  thread.join();
  state_->options.call = nullptr;  // what it owns goes with the cache
}

void cache_events::abandon() {
  if (auto thread = shut(); thread.joinable()) thread.detach();
}

}  // namespace herdlock::runtime
