// A thread with a connection of its own, and the jobs that wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "stores/sqlite/connection.hpp"

namespace herdlock::sqlite {

/// Something to be done on a connection. Its owner may lose interest before it has begun.
class job {
 public:
  virtual ~job() = default;
  /// On the lane's thread; throws nothing. `self` is the lane's own reference.
  virtual void run(connection& db, std::shared_ptr<job> self) noexcept = 0;

  void abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  std::atomic<bool> abandoned_ = false;
};

/// SQLite's calls block, so they run here, one after the other, in the order they were added. The
/// length of the queue is bounded by the board, which counts what is under way.
class lane {
 public:
  enum class kind { reads, writes };

  lane(std::unique_ptr<connection> db, kind what);
  /// Ends the running job's wait for other processes, and drops those that have not begun.
  ~lane();
  lane(lane const&) = delete;
  lane& operator=(lane const&) = delete;

  void add(std::shared_ptr<job> next);

 private:
  void run();
  std::shared_ptr<job> next();

  std::unique_ptr<connection> db_;
  kind kind_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<job>> jobs_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace herdlock::sqlite
