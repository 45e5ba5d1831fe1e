// A thread with a connection of its own, and the tasks that wait for it.
#pragma once

#include <memory>

#include "stores/common/worker_threads.hpp"
#include "stores/sqlite/connection.hpp"

namespace herdlock::sqlite {

/// Something to be done on a connection. On the worker's thread but for its end; throws nothing.
class task {
 public:
  virtual ~task() = default;
  /// Its owner may lose interest before it has begun.
  virtual bool wanted() const = 0;
  /// `self` is the worker's own reference.
  virtual void run(connection& db, std::shared_ptr<task> self) noexcept = 0;
  /// What came of it. On the executor.
  virtual void deliver() = 0;
};

/// SQLite's calls block, so they run here, one after the other, in the order they were added. The
/// length of the queue is bounded by max_pending.
class worker {
 public:
  enum class kind { reads, writes };

  worker(std::unique_ptr<connection> db, kind what);
  /// Ends the running task's wait for other processes, and drops those that have not begun.
  ~worker();
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;

  void add(std::shared_ptr<task> next);

 private:
  void run(std::shared_ptr<task> one);
  void sweep();

  std::unique_ptr<connection> db_;
  kind const kind_;
  std::int64_t until_sweep_;
  bool unswept_ = false;
  stores::worker_threads thread_;
};

}  // namespace herdlock::sqlite
