// The threads that blocking loaders run on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "types/quiet_thread.hpp"

namespace herdlock::runtime {

/// Starts a thread when there is work and none is idle, up to `most`; they end with close(). Work
/// beyond that waits (the cache never has more loads at once than `most`). Work may end its thread
/// (pthread_exit): another takes its place at the next need. The threads have the signal mask of
/// the one that made the pool. Any thread.
class loader_pool {
 public:
  using thread_maker = std::function<std::thread(std::function<void()>)>;
  explicit loader_pool(std::size_t most, thread_maker start = users_threads())
      : state_(std::make_shared<state>(most, std::move(start))) {}
  ~loader_pool() { close(); }
  loader_pool(loader_pool const&) = delete;
  loader_pool& operator=(loader_pool const&) = delete;

  /// Dropped unrun after close(). Throws when no thread lives and none can be made.
  void run(std::function<void()> work);

  /// Waits for the work that runs and drops the rest. Called on one of its own threads it waits
  /// for the others only.
  void close();
  /// The same without waiting: the threads end by themselves.
  void abandon();

 private:
  // Shared with the threads, which may outlive the pool after abandon().
  struct state {
    state(std::size_t most_threads, thread_maker how) : most(most_threads), start(std::move(how)) {}

    std::size_t const most;
    thread_maker const start;
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::function<void()>> work;
    std::vector<std::thread> threads;
    std::size_t idle = 0;
    bool closed = false;
  };
  struct serving;

  static thread_maker users_threads() {
    return [signals = detail::signal_mask::of_this_thread()](std::function<void()> body) {
      return detail::start_users_thread("herdlock-load", signals, std::move(body));
    };
  }
  static void serve(std::shared_ptr<state> const& shared);
  static void add_thread(std::shared_ptr<state> const& shared);
  std::vector<std::thread> shut();

  std::shared_ptr<state> state_;
};

}  // namespace herdlock::runtime
