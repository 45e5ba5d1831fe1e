// A small pool of threads for client libraries whose calls block.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace herdlock::stores {

/// Runs jobs on up to `most` threads, first come, first served; a thread is made when a job comes
/// and none is idle. The number of jobs that wait is bounded by the caller (max_pending).
/// Threads take no signals: those are for the threads of the program that uses us. Their name is a
/// literal of at most 15 bytes.
class worker_threads {
 public:
  worker_threads(char const* name, std::size_t most) : name_(name), most_(most) {}
  ~worker_threads() { close(); }
  worker_threads(worker_threads const&) = delete;
  worker_threads& operator=(worker_threads const&) = delete;

  /// From any thread. The job throws nothing. False when the process can have no thread for it and
  /// none is there: it waits until one is made for a later job. Dropped when it is closed.
  bool add(std::function<void()> job);
  /// Drops the jobs that have not begun and waits for those that have: make them give up before.
  /// From one thread, and not from a job.
  void close();

 private:
  void start_thread();
  void run();

  char const* const name_;
  std::size_t const most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool closing_ = false;
};

}  // namespace herdlock::stores
